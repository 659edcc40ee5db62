"""Any two runs held against each other, effect by effect, paired by what they asked."""
