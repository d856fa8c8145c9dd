"""The stable codes of every refusal and warning about a declaration, in one table."""

CODES: dict[str, str] = {
    "PS-E001": "an equation collapsed to True or False before pinnsolve saw it",
    "PS-E002": "an equation contains no field",
    "PS-E003": "a field is called with the wrong arguments",
    "PS-E004": "an unknown symbol or function",
    "PS-E005": "a condition lies outside the domain",
    "PS-E006": "an interval is empty, reversed or not finite",
    "PS-E007": "a coefficient is not a finite real number",
    "PS-E008": "there are more fields than equations",
    "PS-E009": "an initial condition is missing",
    "PS-E010": "a part of the boundary has no condition",
    "PS-E011": "the level of a field is undetermined",
    "PS-E012": "two conditions contradict each other",
    "PS-E013": "the same equation is given twice",
    "PS-E014": "the domain and the coordinates of the fields do not match",
    "PS-E015": "a condition varies along a coordinate that it fixes",
    "PS-E016": "a name cannot be declared",
    "PS-E017": "not an equation",
    "PS-E018": "a field at a fixed place is differentiated along the fixed coordinate",
    "PS-E019": "fields of one problem do not have the same coordinates",
    "PS-W001": "two conditions disagree where their places meet",
}
