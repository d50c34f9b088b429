#include "core/backends/cuda/library_dnn.h"

#include <algorithm>
#include <span>

#include "core/compile/plan/plan.h"

namespace hloscope::replay::cuda {
namespace {

using namespace libraries;  // NOLINT: numbers of cuDNN

constexpr std::array<int64_t, 3> kUids = {'x', 'w', 'y'};
constexpr int64_t kMaxWorkspace = int64_t{256} << 20;
constexpr int64_t kMaxEngines = 16;

}  // namespace

std::optional<int> DnnTypeOf(hlo::ElementType type) {
  switch (type) {
    case hlo::ElementType::kF32:
      return kDnnFloat;
    case hlo::ElementType::kF64:
      return kDnnDouble;
    case hlo::ElementType::kF16:
      return kDnnHalf;
    case hlo::ElementType::kBF16:
      return kDnnBf16;
    default:
      return std::nullopt;
  }
}

class DnnPlan::Builder {
 public:
  Builder(DnnPlan& plan, const DnnConvolution& what)
      : out_(plan), dnn_(*plan.library_), what_(what) {}

  Status Build(std::string_view way) {
    HLOSCOPE_ASSIGN_OR_RETURN(out_.handle_, SharedHandle::Of(out_.device_, out_.library_,
                                                             dnn_->DnnCreate, dnn_->DnnDestroy));
    const std::lock_guard lock(out_.handle_->mutex());
    HLOSCOPE_ASSIGN_OR_RETURN(void* const graph, Graph());
    std::vector<AlgorithmCandidate>& proposals = out_.proposals_;
    for (const int32_t mode : {kDnnBest, kDnnFallback}) {
      HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<void*> engines, Engines(graph, mode));
      for (void* const engine : engines) {
        HLOSCOPE_ASSIGN_OR_RETURN(const std::optional<int64_t> number, ExactEngine(engine));
        if (!number) continue;
        AlgorithmCandidate& each = proposals.emplace_back();
        each.name = fmt::format("proposal {} (engine {})", proposals.size(), *number);
        const bool is_wanted = way.empty() ? out_.plan_ == nullptr : way == each.name;
        if (!is_wanted) continue;
        const Status planned = Plan(engine);
        if (!planned.has_value()) each.refused = ReasonOf(planned.error());
        out_.taken_ = proposals.size() - 1;
      }
    }
    if (proposals.empty()) {
      return UnsupportedError(fmt::format(
          "{}: not supported: no engine of it has the same bits in every run and loses none",
          dnn_.row().name));
    }
    if (out_.plan_ != nullptr) return {};
    HLOSCOPE_TRY(TakeCandidate(dnn_, proposals, way));
    return InternalError("a candidate has no plan");
  }

 private:
  Result<void*> Make(int kind) {
    void* made = nullptr;
    HLOSCOPE_TRY(dnn_.Check(dnn_->DnnMake(kind, &made), "describing a convolution"));
    out_.parts_.emplace_back(out_.device_, made, dnn_->DnnDrop);
    return made;
  }
  template <typename T>
  Status Set(void* of, int name, int type, std::span<const T> values) {
    return dnn_.Check(dnn_->DnnSet(of, name, type, std::ssize(values), values.data()),
                      "describing a convolution");
  }
  template <typename T>
  Status Set(void* of, int name, int type, const T& value) {
    return Set(of, name, type, std::span(&value, 1));
  }
  Status Set(void* of, int name, const std::vector<int64_t>& values) {
    return Set(of, name, kDnnInt64, std::span(values));
  }
  Status Finish(void* of, const char* doing) {
    return dnn_.Check(dnn_->DnnFinish(of), "{}", doing);
  }

  Result<void*> Tensor(const DnnArray& array, int64_t uid) {
    HLOSCOPE_ASSIGN_OR_RETURN(void* const tensor, Make(kDnnTensor));
    // What a call for a batch of one may be given at the least.
    const int64_t alignment = compile::kBufferAlignment;
    HLOSCOPE_TRY(Set(tensor, kDnnTensorType, kDnnDataType, int32_t{what_.type}));
    HLOSCOPE_TRY(Set(tensor, kDnnTensorSizes, array.sizes));
    HLOSCOPE_TRY(Set(tensor, kDnnTensorStrides, array.strides));
    HLOSCOPE_TRY(Set(tensor, kDnnTensorUid, kDnnInt64, uid));
    HLOSCOPE_TRY(Set(tensor, kDnnTensorAlignment, kDnnInt64, alignment));
    HLOSCOPE_TRY(Finish(tensor, "describing a tensor"));
    return tensor;
  }

  Result<void*> Graph() {
    HLOSCOPE_ASSIGN_OR_RETURN(void* const input, Tensor(what_.input, kUids[0]));
    HLOSCOPE_ASSIGN_OR_RETURN(void* const filter, Tensor(what_.filter, kUids[1]));
    HLOSCOPE_ASSIGN_OR_RETURN(void* const result, Tensor(what_.result, kUids[2]));
    HLOSCOPE_ASSIGN_OR_RETURN(void* const window, Make(kDnnConvolution));
    const int32_t sum = what_.is_double ? kDnnDouble : kDnnFloat, mode = kDnnCrossCorrelation;
    HLOSCOPE_TRY(Set(window, kDnnConvolutionSum, kDnnDataType, sum));
    HLOSCOPE_TRY(Set(window, kDnnConvolutionMode, kDnnConvolutionModeType, mode));
    HLOSCOPE_TRY(
        Set(window, kDnnConvolutionSpace, kDnnInt64, static_cast<int64_t>(what_.strides.size())));
    HLOSCOPE_TRY(Set(window, kDnnConvolutionStrides, what_.strides));
    HLOSCOPE_TRY(Set(window, kDnnConvolutionDilations, what_.dilations));
    HLOSCOPE_TRY(Set(window, kDnnConvolutionLow, what_.low));
    HLOSCOPE_TRY(Set(window, kDnnConvolutionHigh, what_.high));
    HLOSCOPE_TRY(Finish(window, "describing a window"));
    HLOSCOPE_ASSIGN_OR_RETURN(void* const operation, Make(kDnnForward));
    HLOSCOPE_TRY(Set(operation, kDnnForwardWindow, kDnnDescriptor, window));
    HLOSCOPE_TRY(Set(operation, kDnnForwardInput, kDnnDescriptor, input));
    HLOSCOPE_TRY(Set(operation, kDnnForwardFilter, kDnnDescriptor, filter));
    HLOSCOPE_TRY(Set(operation, kDnnForwardResult, kDnnDescriptor, result));
    if (what_.is_double) {
      HLOSCOPE_TRY(Set(operation, kDnnForwardAlpha, kDnnDoubleType, 1.0));
      HLOSCOPE_TRY(Set(operation, kDnnForwardBeta, kDnnDoubleType, 0.0));
    } else {
      HLOSCOPE_TRY(Set(operation, kDnnForwardAlpha, kDnnFloatType, 1.0f));
      HLOSCOPE_TRY(Set(operation, kDnnForwardBeta, kDnnFloatType, 0.0f));
    }
    HLOSCOPE_TRY(Finish(operation, "describing a convolution"));
    HLOSCOPE_ASSIGN_OR_RETURN(void* const graph, Make(kDnnGraph));
    HLOSCOPE_TRY(Set(graph, kDnnGraphHandle, kDnnHandle, out_.handle_->get()));
    HLOSCOPE_TRY(Set(graph, kDnnGraphOperations, kDnnDescriptor, operation));
    HLOSCOPE_TRY(Finish(graph, "making a graph"));
    return graph;
  }

  // Configurations that cuDNN proposes, the best first.
  Result<std::vector<void*>> Engines(void* graph, int32_t mode) {
    HLOSCOPE_ASSIGN_OR_RETURN(void* const heuristic, Make(kDnnHeuristic));
    HLOSCOPE_TRY(Set(heuristic, kDnnHeuristicGraph, kDnnDescriptor, graph));
    HLOSCOPE_TRY(Set(heuristic, kDnnHeuristicMode, kDnnHeuristicModeType, mode));
    HLOSCOPE_TRY(Finish(heuristic, "choosing an engine"));
    std::vector<void*> engines;
    for (int64_t i = 0; i < kMaxEngines; ++i) {
      HLOSCOPE_ASSIGN_OR_RETURN(engines.emplace_back(), Make(kDnnConfiguration));
    }
    int64_t count = 0;
    HLOSCOPE_TRY(dnn_.Check(dnn_->DnnGet(heuristic, kDnnHeuristicResults, kDnnDescriptor,
                                         kMaxEngines, &count, engines.data()),
                            "choosing an engine"));
    engines.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, kMaxEngines)));
    return engines;
  }

  // The number of a configuration's engine; nullopt: it loses bits, or has others in each run.
  Result<std::optional<int64_t>> ExactEngine(void* configuration) {
    HLOSCOPE_ASSIGN_OR_RETURN(void* engine, Make(kDnnEngine));
    int64_t count = 0;
    HLOSCOPE_TRY(dnn_.Check(
        dnn_->DnnGet(configuration, kDnnConfigurationEngine, kDnnDescriptor, 1, &count, &engine),
        "querying an engine"));
    std::array<int32_t, 16> notes{};
    HLOSCOPE_TRY(dnn_.Check(
        dnn_->DnnGet(engine, kDnnEngineNotes, kDnnNote, std::ssize(notes), &count, notes.data()),
        "querying an engine"));
    const auto has = [&](int32_t note) {
      const auto end = notes.begin() + std::clamp<int64_t>(count, 0, std::ssize(notes));
      return std::find(notes.begin(), end, note) != end;
    };
    // Tensor cores take f32 as tf32.
    const bool is_narrowed = !what_.is_narrow && !what_.is_double && has(kDnnTensorCore);
    const bool is_exact = !is_narrowed && !has(kDnnDownConverts) && !has(kDnnShortSums) &&
                          !has(kDnnByFft) && !has(kDnnNotDeterministic) && !has(kDnnWinograd);
    if (!is_exact) return std::nullopt;
    int64_t number = 0;
    HLOSCOPE_TRY(dnn_.Check(dnn_->DnnGet(engine, kDnnEngineNumber, kDnnInt64, 1, &count, &number),
                            "querying an engine"));
    return number;
  }

  Status Plan(void* configuration) {
    HLOSCOPE_ASSIGN_OR_RETURN(void* const plan, Make(kDnnPlan));
    HLOSCOPE_TRY(Set(plan, kDnnPlanHandle, kDnnHandle, out_.handle_->get()));
    HLOSCOPE_TRY(Set(plan, kDnnPlanConfiguration, kDnnDescriptor, configuration));
    HLOSCOPE_TRY(Finish(plan, "planning a convolution"));
    int64_t bytes = 0, count = 0;
    HLOSCOPE_TRY(dnn_.Check(dnn_->DnnGet(plan, kDnnPlanWorkspace, kDnnInt64, 1, &count, &bytes),
                            "asking for a plan's workspace"));
    if (bytes > kMaxWorkspace) {
      return UnsupportedError(
          fmt::format("{}: workspace too large: {} bytes needed, at most {} available",
                      dnn_.row().name, bytes, kMaxWorkspace));
    }
    out_.plan_ = plan;
    out_.workspace_bytes_ = bytes;
    return {};
  }

  DnnPlan& out_;
  const Library& dnn_;
  const DnnConvolution& what_;
};

Result<std::unique_ptr<DnnPlan>> DnnPlan::Make(const std::shared_ptr<const Device>& device,
                                               const std::shared_ptr<const Library>& library,
                                               const DnnConvolution& what, std::string_view way) {
  std::unique_ptr<DnnPlan> out(new DnnPlan);
  out->device_ = device;
  out->library_ = library;
  HLOSCOPE_TRY(Builder(*out, what).Build(way));
  return out;
}

Status DnnPlan::Enqueue(StreamHandle stream, const std::array<Address, 3>& arrays,
                        Address workspace) const {
  const Library& dnn = *library_;
  // The stream is the handle's until the plan is launched.
  const std::lock_guard lock(handle_->mutex());
  HLOSCOPE_TRY(dnn.Check(dnn->DnnSetStream(handle_->get(), stream), "taking a stream"));
  void* pack = nullptr;
  HLOSCOPE_TRY(dnn.Check(dnn->DnnMake(kDnnPack, &pack), "naming arrays"));
  const LibraryHandle kept(device_, pack, dnn->DnnDrop);
  const std::array<void*, 3> pointers = {Pointer(arrays[0]), Pointer(arrays[1]),
                                         Pointer(arrays[2])};
  void* const room = Pointer(workspace);
  HLOSCOPE_TRY(
      dnn.Check(dnn->DnnSet(pack, kDnnPackUids, kDnnInt64, 3, kUids.data()), "naming arrays"));
  HLOSCOPE_TRY(dnn.Check(dnn->DnnSet(pack, kDnnPackPointers, kDnnPointer, 3, pointers.data()),
                         "naming arrays"));
  HLOSCOPE_TRY(
      dnn.Check(dnn->DnnSet(pack, kDnnPackWorkspace, kDnnPointer, 1, &room), "naming arrays"));
  HLOSCOPE_TRY(dnn.Check(dnn->DnnFinish(pack), "naming arrays"));
  return dnn.Check(dnn->DnnExecute(handle_->get(), plan_, pack), "convolving");
}

}  // namespace hloscope::replay::cuda
