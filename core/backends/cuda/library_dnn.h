// DnnPlan: a convolution as one of cuDNN's execution plans.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/backends/cuda/library_work.h"
#include "core/hlo/element_type.h"

namespace hloscope::replay::cuda {

// An array in cuDNN's order of dimensions: batch (of a filter: features of the result), features,
// space. Strides are in elements.
struct DnnArray {
  std::vector<int64_t> sizes, strides;
};

struct DnnConvolution {
  int type = 0;
  bool is_double = false;  // what is summed up in; else f32
  bool is_narrow = false;  // of less than 32 bits, so that tensor cores lose nothing
  DnnArray input, filter, result;
  std::vector<int64_t> strides, dilations, low, high;  // by dimension of space
};

// cudnnDataType_t of what convolutions are called for.
std::optional<int> DnnTypeOf(hlo::ElementType type);

class DnnPlan {
 public:
  // The engine of that name, or (empty) the first that cuDNN proposes, of those that give the same
  // bits in every run and take no narrower numbers or shortened sums. Errors: the library's refusal
  // (unsupported).
  static Result<std::unique_ptr<DnnPlan>> Make(const std::shared_ptr<const Device>& device,
                                               const std::shared_ptr<const Library>& library,
                                               const DnnConvolution& what, std::string_view way);

  const std::vector<AlgorithmCandidate>& proposals() const { return proposals_; }
  size_t taken() const { return taken_; }

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // `arrays`: input, filter, result. `workspace`: a multiple of kWorkspaceAlignment.
  Status Enqueue(StreamHandle stream, const std::array<Address, 3>& arrays,
                 Address workspace) const;

 private:
  class Builder;
  DnnPlan() = default;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Library> library_;
  std::shared_ptr<const SharedHandle> handle_;
  std::vector<LibraryHandle> parts_;  // descriptors that the plan was made of
  std::vector<AlgorithmCandidate> proposals_;
  size_t taken_ = 0;
  void* plan_ = nullptr;
  int64_t workspace_bytes_ = 0;
};

}  // namespace hloscope::replay::cuda
