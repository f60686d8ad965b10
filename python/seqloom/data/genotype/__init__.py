"""Genotypes of individuals or variants, with phenotypes and covariates."""
