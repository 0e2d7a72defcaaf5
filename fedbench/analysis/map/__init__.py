"""From runs at the points of a design to costs at any levels of its factors: which algorithm is
best where, and how sure that is.

`fit` has the model of log costs, `draws` its uncertainty, `answers` what follows from it, and
`prediction` whether it predicts points that it has not seen.

The likelihood is our own. `statsmodels` has mixed models, but no censored runs and no random
effects that cross (seeds are shared by algorithms, and the lack of fit by seeds). `lifelines` has
censored runs, but no random effects, and one penalty for all coefficients. Either would be a new
dependency of everybody who asks for advice. All effects here are normal, so numpy and scipy do it
in about 1,000 lines, and a fit takes seconds.
"""
