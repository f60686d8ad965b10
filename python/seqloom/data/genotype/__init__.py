"""Datasets of genotypes, with phenotypes and covariates."""
