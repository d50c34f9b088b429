// Commands of the libcupti for tests: what it says and which records it makes.
#pragma once

#include <cstdint>

namespace hloscope::fake_cupti {

struct Control {
  uint32_t version = 130001;
  int subscribe_result = 0, enable_result = 0;
  uint32_t refused_kind = 0;  // that enable_result is for; 0: every kind
  uint64_t now = 1'000'000;
  uint32_t next_correlation = 1;
  int64_t dropped = 0;
  // For the test to call: one record each. Times are of its clock; `node` of a graph, 0: none.
  void (*kernel)(const char* name, uint32_t device, uint32_t stream, uint64_t start, uint64_t end,
                 uint64_t node) = nullptr;
  void (*copy)(uint32_t stream, uint64_t start, uint64_t end, uint64_t bytes) = nullptr;
  void (*fill)(uint32_t stream, uint64_t start, uint64_t end, uint64_t bytes) = nullptr;
  void (*synchronize)(uint64_t start, uint64_t end) = nullptr;
  void (*overhead)(uint64_t start, uint64_t end) = nullptr;
  void (*unknown)() = nullptr;
  // The beginning of an NVTX range, or its end (no name).
  void (*mark)(uint32_t id, const char* name) = nullptr;
  // Asks for a buffer and gives it back empty; says that a node of a graph was made, or cloned from
  // another (0: from none).
  void (*ask)() = nullptr;
  void (*node)(uint64_t node, uint64_t original) = nullptr;
  // Where not null, called whenever the next record of a buffer is asked for.
  void (*on_next_record)() = nullptr;
};

}  // namespace hloscope::fake_cupti

extern "C" hloscope::fake_cupti::Control* FakeCupti();
