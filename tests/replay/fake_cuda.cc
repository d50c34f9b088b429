// A CUDA driver for tests: it has the functions that `hloscope doctor` asks, and answers what the
// variables CUDA_FAKE_… say.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

namespace {

int Setting(const char* name, int otherwise) {
  const char* value = getenv(name);
  return value == nullptr ? otherwise : atoi(value);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  if (const int number = Setting("CUDA_FAKE_SIGNAL", 0); number != 0) raise(number);
  return Setting("CUDA_FAKE_ERROR", 0);
}
int cuDriverGetVersion(int* version) {
  *version = Setting("CUDA_FAKE_VERSION", 13000);
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = Setting("CUDA_FAKE_DEVICES", 1);
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int) {
  strncpy(name, "Made-up GPU", static_cast<size_t>(size));
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = Setting("CUDA_FAKE_CAPABILITY", 90);
  *value = attribute == 75 ? capability / 10 : capability % 10;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{80} << 30;
  return 0;
}
int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_MADE_UP";
  return 0;
}

}  // extern "C"
