// Results as files of the ranks' folder, taken by all others.
#include "core/backends/cuda/ranked_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/byte_archive.h"
#include "core/base/counted.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::replay::cuda {
namespace {

// Keeps the results of one device, and passes the rest on.
class OwnResults : public RunStream {
 public:
  OwnResults(int64_t device, RunStream& next) : device_(device), next_(next) {}
  void Take(RunEvent event) override {
    if (auto* leaf = std::get_if<LeafResult>(&event)) {
      if (leaf->device == device_) own.push_back(std::move(*leaf));
      return;
    }
    if (const auto* ran = std::get_if<RunExecuted>(&event)) {
      by_plan = ran->placement.gpus == ran->placement.devices;
    }
    next_.Take(std::move(event));
  }

  std::vector<LeafResult> own;
  bool by_plan = false;

 private:
  int64_t device_;
  RunStream& next_;
};

Status CheckLeaf(const hlo::Shape& shape) {
  if (shape.IsArray() && !shape.has_dynamic_dimension()) return {};
  return UnsupportedError(fmt::format("ranks exchange arrays of static shape, the result has {}",
                                      hlo::ToString(shape, false)),
                          "run it in one process, without --ranks-folder");
}

void AddLeaves(const hlo::Shape& shape, std::vector<hlo::Shape>& out) {
  if (!shape.IsTuple()) return out.push_back(shape);
  for (const hlo::Shape& element : shape.elements()) AddLeaves(element, out);
}

class RankedExecutable : public Executable {
 public:
  RankedExecutable(std::unique_ptr<Executable> own, std::shared_ptr<const Ranks> ranks,
                   std::vector<hlo::Shape> leaves)
      : own_(std::move(own)), ranks_(std::move(ranks)), leaves_(std::move(leaves)) {}

  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    auto result = RunAndTell(inputs, options, stream);
    if (!result.has_value()) ranks_->Fail(result.error());
    return result;
  }

 private:
  Result<RunResult> RunAndTell(std::span<const std::vector<hlo::Literal>> inputs,
                               const RunOptions& options, RunStream& stream) {
    if (options.capture.wants_more_than_results()) {
      return UnsupportedError("ranks exchange results only, not captured values",
                              "run it in one process, without --ranks-folder");
    }
    OwnResults results(ranks_->rank(), stream);
    HLOSCOPE_ASSIGN_OR_RETURN(RunResult result, own_->Run(inputs, options, results));
    if (!results.by_plan) {
      return UnsupportedError(
          "the module runs instruction by instruction, for which all devices have to be in one "
          "process",
          "leave --ranks-folder out");
    }
    const std::string run = ranks_->NewName("results");
    const auto name = [&](int64_t rank) { return fmt::format("{}-by-{}", run, rank); };
    HLOSCOPE_TRY(ranks_->Put(name(ranks_->rank()), Packed(results.own)));
    const auto look = [&]() -> Status {
      if (options.budget.stop.stop_requested()) {
        return std::unexpected(Error{ErrorClass::kCancelled, "stopped", {}, {}});
      }
      if (!options.budget.deadline || std::chrono::steady_clock::now() < *options.budget.deadline)
        return {};
      return std::unexpected(Error{
          ErrorClass::kDeadlineExceeded, "the deadline passed", {}, "--deadline gives more time"});
    };
    for (int64_t rank = 0; rank < ranks_->ranks(); ++rank) {
      if (rank == ranks_->rank()) {
        for (LeafResult& leaf : results.own) stream.Take(std::move(leaf));
        continue;
      }
      HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes,
                                ranks_->Take(name(rank), rank, "sending its results", look));
      HLOSCOPE_TRY(Unpack(bytes, rank, stream));
    }
    // Whoever has told this run's results has taken all of the last one's.
    if (!told_.empty()) ranks_->Remove(told_);
    told_ = name(ranks_->rank());
    return result;
  }

  static std::string Packed(std::span<const LeafResult> leaves) {
    ByteWriter out;
    for (const LeafResult& leaf : leaves) {
      const bool has_value = leaf.value.has_value();
      const auto bytes = has_value ? leaf.value->bytes() : std::span<const std::byte>();
      out(has_value, has_value
                         ? std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())
                         : leaf.value.error().message);
    }
    return std::string(out.bytes());
  }

  Status Unpack(const std::string& bytes, int64_t rank, RunStream& stream) const {
    ByteReader in(std::as_bytes(std::span(bytes)), nullptr);
    for (int64_t k = 0; std::cmp_less(k, leaves_.size()); ++k) {
      const bool has_value = in.Get<bool>();
      const auto text = in.Get<std::string>();
      const hlo::Shape& shape = leaves_[static_cast<size_t>(k)];
      const bool fits =
          in.ok() && (!has_value || std::cmp_equal(text.size(), shape.ByteSize().value_or(-1)));
      if (!fits) {
        return std::unexpected(Error{
            ErrorClass::kCrashed,
            fmt::format("rank {} sent results of another size: does it run the same module?", rank),
            {},
            {}});
      }
      LeafResult leaf{.device = rank, .leaf = k};
      if (has_value) {
        const auto own = std::as_bytes(std::span(text));
        leaf.value = hlo::Literal::Dense(shape, std::vector<std::byte>(own.begin(), own.end()));
      } else {
        leaf.value = UnsupportedError(text);
      }
      stream.Take(std::move(leaf));
    }
    return {};
  }

  std::unique_ptr<Executable> own_;
  std::shared_ptr<const Ranks> ranks_;
  std::vector<hlo::Shape> leaves_;  // of a device
  std::string told_;                // the file of the last run
};

class RankedPlatform : public Platform {
 public:
  RankedPlatform(std::unique_ptr<Platform> own, std::shared_ptr<const Ranks> ranks)
      : own_(std::move(own)), ranks_(std::move(ranks)) {}
  std::string_view name() const override { return own_->name(); }

  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    auto loaded = LoadOwn(std::move(module), options);
    if (!loaded.has_value()) ranks_->Fail(loaded.error());
    return loaded;
  }

 private:
  Result<std::unique_ptr<Executable>> LoadOwn(std::shared_ptr<const hlo::Module> module,
                                              const RunOptions& options) {
    const hlo::Topology topology = hlo::TopologyOf(*module, options.limits.devices);
    const int64_t devices = topology.counts.devices();
    if (devices != ranks_->ranks()) {
      return InputError(
          fmt::format("the module has {}, the launcher started {}: expected one each",
                      Counted(devices, "device"), Counted(ranks_->ranks(), "rank")),
          fmt::format("start {}, or leave --ranks-folder out", Counted(devices, "rank")));
    }
    if (topology.unpartitioned && topology.counts.partitions > 1) {
      return UnsupportedError("ranks run partitioned modules: this one is not SPMD-partitioned yet",
                              "run the module as it is after XLA's SPMD partitioner");
    }
    std::vector<hlo::Shape> leaves;
    AddLeaves(module->shape(module->entry().root), leaves);
    for (const hlo::Shape& leaf : leaves) HLOSCOPE_TRY(CheckLeaf(leaf));
    HLOSCOPE_TRY(ranks_->Begin());
    HLOSCOPE_ASSIGN_OR_RETURN(auto own, own_->Load(std::move(module), options));
    return std::make_unique<RankedExecutable>(std::move(own), ranks_, std::move(leaves));
  }

  std::unique_ptr<Platform> own_;
  std::shared_ptr<const Ranks> ranks_;
};

}  // namespace

std::unique_ptr<Platform> MakeRankedPlatform(std::unique_ptr<Platform> own,
                                             std::shared_ptr<const Ranks> ranks) {
  return std::make_unique<RankedPlatform>(std::move(own), std::move(ranks));
}

}  // namespace hloscope::replay::cuda
