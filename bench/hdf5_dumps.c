/* A simulation that writes each dump into an HDF5 file of its own: hdf5_dumps FOLDER DUMPS SIZE. Prints
 * seconds. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int count, char** words) {
  if (count != 4) {
    return 2;
  }
  const int dumps = atoi(words[2]);
  const hsize_t values = (hsize_t)atoi(words[3]) / sizeof(double);
  double* data = calloc(values, sizeof *data);
  const hid_t space = H5Screate_simple(1, &values, NULL);
  char path[4096];
  const double begin = now();
  for (int i = 0; i < dumps; ++i) {
    snprintf(path, sizeof path, "%s/dump-%06d.h5", words[1], i);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t set =
        H5Dcreate2(file, "pressure", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
      return 1;
    }
    H5Dclose(set);
    if (H5Fclose(file) < 0) {
      return 1;
    }
  }
  printf("%.6f\n", now() - begin);
  free(data);
  return 0;
}
