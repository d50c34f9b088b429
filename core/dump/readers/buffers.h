// Buffer assignment of one module: allocations, the values in them, when they live, and the peak.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::dump {

struct BufferAllocation {
  int64_t index = -1;
  int64_t size = 0;               // bytes
  int64_t color = 0;              // memory space
  int64_t parameter_number = -1;  // of the entry computation; -1: no parameter
  std::vector<int64_t> parameter_shape_index;
  bool is_thread_local = false, is_constant = false, is_tuple = false, maybe_live_out = false;
  bool is_preallocated_temp = false, is_parameter_aliased_with_output = false;
};

// What an allocation is for.
enum class AllocationKind : uint8_t { kTemporary, kParameter, kResult, kConstant, kThreadLocal };
std::string_view ToString(AllocationKind kind);
AllocationKind KindOf(const BufferAllocation& allocation);

constexpr int32_t kUnknownPoint = -1;

// One logical buffer at its place in an allocation.
struct BufferValue {
  int64_t id = -1;
  int32_t allocation = -1;  // position in BufferTable::allocations
  int64_t offset = 0, size = 0;
  int64_t color = 0;
  std::string instruction;  // that defines it, in the final stage; empty if unknown
  std::vector<int64_t> shape_index;
  std::string shape;  // as text; empty if unknown
  // Points of `program`; kUnknownPoint where the dump does not say.
  int32_t live_start = kUnknownPoint, live_end = kUnknownPoint;
};

// A report of memory usage tells the total alone.
enum class BufferSource : uint8_t { kNone, kProto, kText, kReport };

struct BufferTable {
  BufferSource source = BufferSource::kNone;
  bool has_values() const {
    return source == BufferSource::kProto || source == BufferSource::kText;
  }
  int32_t file = -1;                          // it was read from
  std::vector<BufferAllocation> allocations;  // by index
  std::vector<BufferValue> values;            // by allocation, offset, id
  std::vector<std::string> program;           // instruction names in the order they run
  int64_t total_bytes = 0;  // of all allocations: what a run needs, XLA's "Total bytes used"
  int64_t constant_bytes = 0, parameter_bytes = 0, live_out_bytes = 0, temporary_bytes = 0;
  // The most bytes that live at once (of values at one place the largest counts), the point of
  // `program` and who they are (positions in `values`, largest first). -1 where no live ranges are
  // known.
  int64_t live_peak_bytes = -1;
  int32_t live_peak_point = kUnknownPoint;
  std::vector<int32_t> live_peak_values;
  std::vector<std::string> warnings;
};

}  // namespace hloscope::dump
