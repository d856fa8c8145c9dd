"""Gallery of ten problems, each stated as in a paper and compared with an independent reference.

`python problems/burgers.py` solves one and writes its figure and HDF5 file under `outputs/`.
"""
