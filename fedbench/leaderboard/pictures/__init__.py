"""Pictures as inline SVG, without a drawing library. Colours come from the style sheet, so that
they follow the light or dark scheme."""
