"""How a share is spelled, everywhere."""


def percent(share: float) -> str:
    """Spells a share for a person.

    Args:
        share: From 0 to 1.

    Returns:
        Percent with one decimal.

    Examples:
        >>> percent(0.9623)
        '96.2 %'
    """
    return f"{100 * share:.1f} %"
