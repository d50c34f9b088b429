// A plugin that ends the process as soon as it is asked for its functions.
#include <stdio.h>
#include <stdlib.h>

extern "C" const void* GetPjrtApi() {
  fputs("the plugin has had enough\n", stderr);
  abort();
}
