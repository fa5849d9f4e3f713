/* A simulation that appends time steps to a NetCDF file and flushes each: netcdf_steps FILE STEPS VALUES. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status) {
  if (status != NC_NOERR) {
    fprintf(stderr, "netcdf_steps: %s\n", nc_strerror(status));
    exit(1);
  }
}

int main(int count, char** words) {
  if (count != 4) {
    return 2;
  }
  const size_t steps = (size_t)atoi(words[2]), values = (size_t)atoi(words[3]);
  double* data = malloc(values * sizeof *data);
  int file = 0, dimensions[2], variable = 0;
  check(nc_create(words[1], NC_CLOBBER, &file));
  check(nc_def_dim(file, "step", NC_UNLIMITED, &dimensions[0]));
  check(nc_def_dim(file, "cell", values, &dimensions[1]));
  check(nc_def_var(file, "temperature", NC_DOUBLE, 2, dimensions, &variable));
  check(nc_enddef(file));
  for (size_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < values; ++i) {
      data[i] = (double)(step * values + i);
    }
    const size_t start[2] = {step, 0}, size[2] = {1, values};
    check(nc_put_vara_double(file, variable, start, size, data));
    check(nc_sync(file));
  }
  check(nc_close(file));
  free(data);
  return 0;
}
