"""What a problem says: sympy only, no networks and no devices.

    Problem --check--> Problem --normalize--> System --sample--> points

Invariant: everything here is frozen, printable data; a `Problem` that exists has passed `check`.
"""
