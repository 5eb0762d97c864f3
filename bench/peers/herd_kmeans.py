"""MiniBatchKMeans of scikit-learn, and the row nearest to each centre: what many take for representatives."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin_min

from measure import arguments, report


def main():
    args = arguments()
    x = np.load(args.file)

    def choose():
        centres = MiniBatchKMeans(args.number, batch_size=10_000, n_init=1, random_state=0).fit(x).cluster_centers_
        nearest, distance = np.zeros(len(centres), dtype=int), np.full(len(centres), np.inf)
        for start in range(0, len(x), 100_000):
            rows, far = pairwise_distances_argmin_min(centres, x[start : start + 100_000])
            closer = far < distance
            nearest[closer], distance[closer] = start + rows[closer], far[closer]
        return nearest, {}

    report(args, choose)


if __name__ == "__main__":
    main()
