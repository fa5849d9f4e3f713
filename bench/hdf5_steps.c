/* A simulation that writes time steps into an HDF5 file: hdf5_steps FILE STEPS VALUES, each step VALUES
 * numbers of each of three quantities, a few at a time as they come. Prints seconds from create to close. */
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
  const hsize_t steps = (hsize_t)atoi(words[2]), values = (hsize_t)atoi(words[3]);
  double* data = malloc(values * sizeof *data);
  for (hsize_t i = 0; i < values; ++i) {
    data[i] = (double)i;
  }
  const double begin = now();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_sieve_buf_size(access,
                        0); /* what the application keeps back itself it would lose when it is killed */
  const hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const char* names[] = {"pressure", "temperature", "velocity"};
  hid_t sets[3];
  const hsize_t size[2] = {steps, values};
  const hid_t space = H5Screate_simple(2, size, NULL);
  for (int i = 0; i < 3; ++i) {
    sets[i] = H5Dcreate2(file, names[i], H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }
  const hsize_t row[2] = {1, values};
  const hid_t memory = H5Screate_simple(2, row, NULL);
  for (int i = 0; i < 3; ++i) {
    for (hsize_t step = 0; step < steps; ++step) {
      const hsize_t start[2] = {step, 0};
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, row, NULL);
      if (H5Dwrite(sets[i], H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) < 0) {
        return 1;
      }
    }
  }
  for (int i = 0; i < 3; ++i) {
    H5Dclose(sets[i]);
  }
  if (H5Fclose(file) < 0) {
    return 1;
  }
  printf("%.6f\n", now() - begin);
  return 0;
}
