// Fourier transforms by cuFFT. It leaves inverse transforms undivided; a kernel behind it divides.
#include <fmt/ranges.h>

#include <array>
#include <mutex>
#include <vector>

#include "core/backends/cuda/helper_kernel.h"
#include "core/backends/cuda/library_work.h"

namespace hloscope::replay::cuda {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::FftType;

struct TransformForm {
  FftType type;
  bool is_double = false;
  std::vector<long long> lengths;
  int64_t arrays = 1, elements = 1;  // of all lengths
};

class Transform : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const AlgorithmRequest& order,
                                                         TransformForm form) {
    auto out = std::make_shared<Transform>();
    out->device_ = order.device;
    out->library_ = order.library;
    out->form_ = std::move(form);
    HLOSCOPE_TRY(out->Prepare());
    return out;
  }
  ~Transform() override {
    if (plan_ < 0) return;
    device_->Enter();
    (*library_)->FftDestroy(plan_);
  }

  int64_t scratch_bytes() const override { return work_bytes_ + int64_t{kWorkspaceAlignment}; }

  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const override {
    const Library& fft = *library_;
    const Address work = AlignedWorkspace(addresses[2]);
    {
      // Stream and memory are the plan's until it is launched.
      const std::lock_guard lock(mutex_);
      HLOSCOPE_TRY(fft.Check(fft->FftSetStream(plan_, stream), "taking a stream"));
      if (work_bytes_ > 0) {
        HLOSCOPE_TRY(fft.Check(fft->FftSetWorkArea(plan_, Pointer(work)), "taking memory"));
      }
      HLOSCOPE_TRY(fft.Check(Launch(Pointer(addresses[0]), Pointer(addresses[1])), "transforming"));
    }
    return IsInverse() ? Divide(stream, addresses[1]) : Status();
  }

 private:
  bool IsInverse() const { return form_.type == FftType::kIfft; }

  int Launch(void* in, void* out) const {
    const libraries::Functions& fft = *library_->operator->();
    if (form_.type == FftType::kRfft) {
      return form_.is_double ? fft.FftD2Z(plan_, in, out) : fft.FftR2C(plan_, in, out);
    }
    const int direction = IsInverse() ? libraries::kFftInverse : libraries::kFftForward;
    return form_.is_double ? fft.FftZ2Z(plan_, in, out, direction)
                           : fft.FftC2C(plan_, in, out, direction);
  }

  Status Prepare() {
    const Library& fft = *library_;
    int plan = -1;
    HLOSCOPE_TRY(fft.Check(fft->FftCreate(&plan), "starting it"));
    plan_ = plan;
    HLOSCOPE_TRY(fft.Check(fft->FftSetAutoAllocation(plan_, 0), "leaving memory to us"));
    const bool is_real = form_.type == FftType::kRfft;
    const int type = form_.is_double ? (is_real ? libraries::kFftD2Z : libraries::kFftZ2Z)
                                     : (is_real ? libraries::kFftR2C : libraries::kFftC2C);
    size_t bytes = 0;
    HLOSCOPE_TRY(fft.Check(
        fft->FftMakePlan(plan_, static_cast<int>(form_.lengths.size()), form_.lengths.data(),
                         nullptr, 1, 0, nullptr, 1, 0, type, form_.arrays, &bytes),
        "planning a transform"));
    work_bytes_ = static_cast<int64_t>(bytes);
    if (!IsInverse()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(scale_,
                              HelperKernel::Load(device_, "scale", ScaleCode(form_.is_double)));
    return {};
  }

  Status Divide(StreamHandle stream, Address array) const {
    auto count = static_cast<uint64_t>(2 * form_.arrays * form_.elements);
    double factor = 1 / static_cast<double>(form_.elements);
    auto short_factor = static_cast<float>(factor);
    void* const given = form_.is_double ? static_cast<void*>(&factor) : &short_factor;
    const std::array<void*, 3> parameters = {&array, &count, given};
    return scale_.Launch(stream, count, parameters);
  }

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Library> library_;
  TransformForm form_;
  int plan_ = -1;
  int64_t work_bytes_ = 0;
  HelperKernel scale_;
  mutable std::mutex mutex_;
};

}  // namespace

// That an instruction is one that cuFFT has a plan for is compile::IsLibraryCall's word: the kernel
// that this stands in for was written for it.
Result<AlgorithmCandidates> OfferTransform(const AlgorithmRequest& order) {
  const hlo::Module& module = order.module;
  const hlo::Shape& in = module.shape(module.operands(order.id)[0]);
  const auto lengths = module.GetInts(module[order.id], AttributeKey::kFftLength);
  TransformForm form;
  form.type = static_cast<FftType>(module.GetInt(module[order.id], AttributeKey::kFftType));
  if (form.type == FftType::kIrfft) {
    return UnsupportedError("what it makes of an input that is not Hermitian is not what HLO says");
  }
  form.is_double =
      in.element_type() == ElementType::kF64 || in.element_type() == ElementType::kC128;
  form.lengths.assign(lengths.begin(), lengths.end());
  for (const int64_t length : lengths) form.elements *= length;
  for (size_t d = 0; d + lengths.size() < in.rank(); ++d) form.arrays *= in.dimension(d);
  return AlgorithmCandidates{
      .form = fmt::format("type {} {} of {}, {} arrays", static_cast<int>(form.type),
                          form.is_double ? "double" : "single", fmt::join(form.lengths, "x"),
                          form.arrays),
      .why_ours = form.arrays * form.elements < library_sizes.transformed ? kTooSmall : "",
      .make = [order, form](std::string_view) { return Transform::Make(order, form); }};
}

}  // namespace hloscope::replay::cuda
