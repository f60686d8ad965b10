"""PLINK files: genotypes, and the tables of individuals and variants."""
