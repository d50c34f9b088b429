// What `cpuid` tells, but for what differs between the cores of one processor.
#include "core/linking/processor.h"

#include <fmt/format.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace hloscope::linking {

#ifdef __x86_64__

namespace {

struct Leaf {
  unsigned number, part;
  bool keeps_b;  // not where it tells which core this is
};
constexpr Leaf kLeaves[] = {{0, 0, true},    {1, 0, false},         {7, 0, true},
                            {7, 1, true},    {0xd, 1, false},       {0x19, 0, true},
                            {0x24, 0, true}, {0x80000001, 0, true}, {0x80000008, 0, true}};
constexpr unsigned kSystemSavesBit = 1u << 27;  // of leaf 1: xgetbv may be asked

}  // namespace

std::string ProcessorName() {
  std::string name = "x86-64";
  bool system_saves = false;
  for (const Leaf& leaf : kLeaves) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf.number, leaf.part, &a, &b, &c, &d) == 0) continue;
    if (leaf.number == 1) system_saves = (c & kSystemSavesBit) != 0;
    if (!leaf.keeps_b) b = 0;
    if (leaf.number == 0x80000008) a = c = d = 0;  // sizes of addresses, numbers of cores
    name += fmt::format(" {:x}:{:x},{:x},{:x},{:x}", leaf.number, a, b, c, d);
  }
  if (system_saves) {
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    name += fmt::format(" {:x}", low);
  }
  return name;
}

bool HasByteProducts() {
  return __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0;
}

#else

std::string ProcessorName() { return {}; }
bool HasByteProducts() { return false; }

#endif

}  // namespace hloscope::linking
