#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  puts(dlopen("./loaded.so", RTLD_NOW) != NULL ? "loaded" : dlerror());
  return 0;
}
