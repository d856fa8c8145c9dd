"""The gallery: problems as papers state them, each compared with an independent reference.

`python problems/burgers.py` solves one and writes its figure and HDF5 file under `outputs/`.
"""
