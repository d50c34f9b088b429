// HelperKernel: a small kernel of ours that goes with a call of a library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/backends/cuda/handles.h"
#include "core/backends/cuda/line_sampler.h"

namespace hloscope::replay::cuda {

// Entry "scale", of (array, count, factor): array[i] = array[i] · factor.
std::string ScaleCode(bool is_double);
// Entry "tidy", of (array, info, side, parts, lower), a thread for each of `parts` numbers per
// element: what cuSOLVER leaves of a matrix becomes what HLO says. Zeros in the other triangle than
// `lower` names; where *info is not 0, there being no factor, NaN throughout, of complex numbers in
// the real part.
std::string TidyCode(bool is_double);
// Entry "reorder", of (from, to, count, sizes of dimensions 1 to 4, strides of 0 to 4): `to`,
// dense, gets the elements of `bytes` each that lie in `from` by these strides.
std::string ReorderCode(int64_t bytes);

// Entry AccumulateEntry ("accumulate_add_f32"), of (to, from, count): to[i] = to[i] ∘ from[i], for
// a type and a reduction of NCCL's (`libraries::kNccl…`), each step rounded to the type.
std::string AccumulateCode(int type, int reduction);
std::string AccumulateEntry(int type, int reduction);

// Entry "decide", of (condition, decision, turns), one thread: the condition of a graph's node is
// whether the byte `decision` is not 0; turns[0] counts decisions, turns[1] those.
std::string DecideCode();

class HelperKernel {
 public:
  // `lined`: where its lines are to be known; null: nowhere.
  static Result<HelperKernel> Load(const std::shared_ptr<const Device>& device,
                                   const std::string& entry, const std::string& code,
                                   LinedCode* lined = nullptr);
  const std::string& entry() const { return entry_; }
  // With at least so many threads.
  Status Launch(StreamHandle stream, uint64_t threads, std::span<void* const> parameters) const;

  HelperKernel() = default;

 private:
  std::shared_ptr<const Device> device_;
  std::string entry_;
  LoadedModule code_;
  FunctionHandle function_ = nullptr;
};

}  // namespace hloscope::replay::cuda
