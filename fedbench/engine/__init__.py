"""Plan, then execute: the scheduler's plan in, models and a record out."""
