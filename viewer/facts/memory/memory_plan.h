// MemoryPlan: live bytes over program order, and buffers as boxes of place and life. No drawing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/dump/readers/buffers.h"

namespace hloscope::viewer {

using dump::AllocationKind;  // decides colour and order

/// The point of the program that is marked on the screen Memory.
struct MemoryPoint {
  int32_t module = -1;
  int32_t point = -1;  // -1: the peak
  // The order of the program may be another.
  void Rebase(const dump::DumpModel&, const dump::DumpModel&, std::vector<std::string>&) {
    *this = {};
  }
};

// A value in the plane of program order and place.
struct MemoryBox {
  int32_t value = -1;            // position in BufferTable::values
  int32_t first = 0, last = 0;   // points of the program, both included
  int64_t bottom = 0, size = 0;  // place among all allocations, bytes
  AllocationKind kind = AllocationKind::kTemporary;
  bool shares_place = false;  // another value has the same bytes at another time
  bool aliases = false;       // another value has the same bytes at the same time
};

// Where an allocation lies among all of them.
struct AllocationPlace {
  int32_t allocation = -1;
  int64_t bottom = 0, size = 0;
  AllocationKind kind = AllocationKind::kTemporary;
};

struct MemoryPlan {
  std::vector<int64_t> live;  // bytes at every point of the program
  std::vector<MemoryBox> boxes;
  std::vector<AllocationPlace> places;  // temporaries first, larger before smaller
  int64_t height = 0;                   // bytes of all places
  int64_t peak = 0;
  int32_t peak_point = -1;
  int64_t unplaced = 0;   // values without known live range or offset
  bool has_lives = true;  // false: no life is known, and every box spans the one point there is
};

// The plan of a table; never fails: what is not known is counted.
MemoryPlan PlanOf(const dump::BufferTable& table);

// Who lives at a point, largest first; values on the same bytes count once, the first of them.
std::vector<int32_t> LiveAt(const dump::BufferTable& table, int32_t point);

// The values of one table against those of another by defining instruction and index: what grew
// most comes first.
struct Growth {
  std::string instruction, shape, other_shape;
  int64_t size = 0, other_size = 0;  // bytes here and there; 0: not there
  int32_t value = -1;                // here; -1: only there
};
std::vector<Growth> GrowthOf(const dump::BufferTable& table, const dump::BufferTable& other);

}  // namespace hloscope::viewer
