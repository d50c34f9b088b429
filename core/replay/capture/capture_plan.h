// CapturePlan: which values of a run are wanted, and of each its bytes, a hash or statistics.
#pragma once

#include <compare>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

// Which value it is: of which module, on which device, behind which calls in which iterations, of
// which instruction, which leaf of it.
struct ValueKey {
  uint64_t stage = 0;  // StageFingerprint of the module
  int64_t device = 0;
  std::vector<runtime::Frame> path;  // calls, outermost first; empty in the entry
  hlo::InstructionId instruction;
  int64_t leaf = 0;  // in the order of the flattened value
};

// Equal for modules whose protos are equal byte for byte.
uint64_t StageFingerprint(const hlo::Module& module);

enum class CaptureForm : uint8_t { kNone, kBytes, kHash, kStatistics };

// Of numbers as double.
struct ValueStatistics {
  int64_t elements = 0, nans = 0, infinities = 0, zeros = 0;
  // Of the finite ones, of complex elements their absolute values (infinite beyond double); 0 where
  // there are none.
  double low = 0, high = 0, mean = 0, rms = 0;
  static constexpr int64_t kFirst = 6;
  std::complex<double> first[kFirst] = {};  // the first elements, min(kFirst, elements) of them
};
// Nothing of what is no array, or has no elements in the file.
ValueStatistics StatisticsOf(const hlo::Literal& array);

enum class CaptureScope : uint8_t {
  kInstructions,      // those that are named
  kFusionBoundaries,  // those that BoundariesOf gives
  kAll,               // everything but the insides of what is applied element by element
};

struct CaptureItem {
  CaptureScope scope = CaptureScope::kInstructions;
  CaptureForm form = CaptureForm::kBytes;
  std::vector<hlo::InstructionId> instructions = {};  // of kInstructions
};

// The run ends behind execution number `execution` (from 0, over all calls, on device 0) of an
// instruction, and only the newest of each value until then is told.
struct CaptureUntil {
  hlo::InstructionId instruction;
  int64_t execution = 0;
};

// A search that has to stand beside the run, since it looks at every value: a row of
// plan_observer.cc and what its maker reads.
struct SearchRequest {
  std::string name, request;
};

struct CapturePlan {
  uint64_t stage = 0;                         // goes into the keys
  CaptureForm results = CaptureForm::kBytes;  // of the entry's
  std::vector<CaptureItem> items;             // beside them
  std::optional<CaptureUntil> until;
  std::optional<SearchRequest> search;

  bool wants_more_than_results() const { return !items.empty() || until || search; }
};

// What one leaf is told as; an error where it has no value.
using CapturedForm = std::variant<hlo::Literal, uint64_t, ValueStatistics, Error>;
CapturedForm FormOf(const Result<hlo::Literal>& leaf, CaptureForm form);

// For errors that end a run because its plan has what it wanted.
Error EndedByPlan();

}  // namespace hloscope::replay
