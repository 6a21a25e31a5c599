"""Run the jobs that read attached files on the machines of a dask cluster, each in a worker process of the project.

A job goes through the scheduler as a task without content (``task.py``), which tells the service where it runs. The
service then connects to that dask worker, and the job's frames pass between it and a process host (``host.py``), which
starts the worker process. dask's workers only relay bytes. Facts: docs/how_to/cluster.md.
"""
