/* Processes that write one file together by MPI-IO, each a part of it in small blocks: mpiio_blocks FILE
 * BLOCK BLOCKS. Rank 0 prints seconds from open to close of the slowest. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count != 4) {
    return 2;
  }
  const int block = atoi(words[2]), blocks = atoi(words[3]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = malloc((size_t)block);
  memset(data, 'a' + rank, (size_t)block);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < blocks; ++i) {
    const MPI_Offset at = ((MPI_Offset)rank * blocks + i) * block;
    if (MPI_File_write_at(file, at, data, block, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_File_close(&file);
  double taken = MPI_Wtime() - begin, slowest = 0;
  MPI_Reduce(&taken, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%.6f\n", slowest);
  }
  MPI_Finalize();
  return 0;
}
