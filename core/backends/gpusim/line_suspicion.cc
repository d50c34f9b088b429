// Slices of several elements, counted line by line.
#include "core/backends/gpusim/line_suspicion.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "core/ptx/trace/slice.h"

namespace hloscope::replay {
namespace {

class Spectrum {
 public:
  Spectrum(const SuspicionQuestion& question, const ptx::LaunchOptions& options)
      : q_(question), launch_(question.kernels.launches[question.launch]), options_(options) {}

  Result<std::map<uint32_t, double>> Run() {
    HLOSCOPE_TRY(FindElements());
    if (right_.empty() && elsewhere_.empty()) return std::map<uint32_t, double>();
    for (const uint64_t element : wrong_) HLOSCOPE_TRY(Count(element, q_.block, wrong_counts_));
    for (const uint64_t element : right_) HLOSCOPE_TRY(Count(element, q_.block, right_counts_));
    for (const uint64_t element : elsewhere_) {
      if (!too_much_) HLOSCOPE_TRY(Count(element, std::nullopt, right_counts_));
    }
    if (too_much_ || right_counts_.elements == 0) return std::map<uint32_t, double>();
    return Coefficients();
  }

 private:
  static constexpr size_t kMaxElements = 5;                 // of each kind
  static constexpr size_t kMaxThreads = 4;                  // traced for an element
  static constexpr uint64_t kMaxSteps = uint64_t{1} << 25;  // of the threads of a block
  using Trait = std::pair<uint32_t, bool>;  // a line; its guard kept it from being done

  struct Counts {
    size_t elements = 0;
    std::map<Trait, size_t> traits;
  };

  ptx::LaunchRequest RequestOn(CaseMemory& memory) const {
    return RequestOf(q_.kernels, launch_, memory);
  }

  uint64_t ByteOf(uint64_t element) const { return q_.first + element * q_.element_bytes; }

  // Those that the block by itself changes.
  Status FindElements() {
    CaseMemory memory = q_.before;
    ptx::LaunchOptions options = options_;
    options.only_block = q_.block;
    HLOSCOPE_TRY(ptx::Launch(q_.code[launch_.code], RequestOn(memory), options));
    const CaseSlice& slice = launch_.arguments[q_.argument];
    const std::byte* const was = q_.before[slice.region].data() + slice.offset;
    const std::byte* const is = memory[slice.region].data() + slice.offset;
    const uint64_t worst = (q_.worst - q_.first) / q_.element_bytes;
    std::vector<uint64_t> wrong, right, elsewhere;
    for (uint64_t i = 0; i < q_.states.size(); ++i) {
      const uint64_t byte = ByteOf(i);
      if (byte + q_.element_bytes > slice.bytes || i == worst) continue;
      const bool is_changed = std::memcmp(was + byte, is + byte, q_.element_bytes) != 0;
      if (is_changed && q_.states[i] == 1) wrong.push_back(i);
      if (q_.states[i] == 0) (is_changed ? right : elsewhere).push_back(i);
    }
    wrong_ = Spread(wrong, kMaxElements - 1);
    wrong_.push_back(worst);
    right_ = Spread(right, kMaxElements);
    if (right_.empty()) elsewhere_ = Spread(elsewhere, 2);
    return {};
  }

  static std::vector<uint64_t> Spread(const std::vector<uint64_t>& all, size_t most) {
    std::vector<uint64_t> some;
    const size_t count = std::min(all.size(), most);
    for (size_t i = 0; i < count; ++i) some.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
    return some;
  }

  Status Count(uint64_t element, std::optional<std::array<uint32_t, 3>> block, Counts& counts) {
    if (too_much_) return {};
    const auto argument = static_cast<uint32_t>(q_.argument);
    CaseMemory memory = q_.before;
    const ptx::LaunchRequest request = RequestOn(memory);
    ptx::LaunchOptions options = options_;
    options.only_block = block;
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto writer,
        ptx::FindWriter(q_.code[launch_.code], request, argument, ByteOf(element), options));
    if (!writer) return {};
    const auto& [x, y, z] = writer->thread;
    const uint32_t thread = x + launch_.threads[0] * (y + launch_.threads[1] * z);
    const auto restore = [&] {
      for (size_t r = 0; r < memory.size(); ++r) std::ranges::copy(q_.before[r], memory[r].begin());
    };
    HLOSCOPE_ASSIGN_OR_RETURN(
        const ptx::SlicedTrace sliced,
        ptx::TraceSlice(q_.code[launch_.code], request,
                        {writer->block, thread, argument, ByteOf(element), false}, options_,
                        restore, kMaxThreads));
    if (sliced.begins.empty()) return {};
    const uint64_t threads = uint64_t{launch_.threads[0]} * launch_.threads[1] * launch_.threads[2];
    for (const ptx::ThreadTrace& traced : sliced.trace.threads)
      too_much_ |= static_cast<uint64_t>(traced.executed) * threads > kMaxSteps;
    std::set<Trait> traits;
    for (const ptx::SliceStep& step : sliced.slice.steps) {
      const ptx::TracedStep& at = sliced.trace.Find(step.step.thread)->at(step.step.step);
      traits.emplace(sliced.trace.instructions[at.instruction].line, at.skipped);
    }
    for (const Trait& trait : traits) ++counts.traits[trait];
    ++counts.elements;
    return {};
  }

  std::map<uint32_t, double> Coefficients() const {
    std::map<uint32_t, double> lines;
    for (const auto& [trait, count] : wrong_counts_.traits) {
      const auto right = right_counts_.traits.find(trait);
      const size_t both = count + (right == right_counts_.traits.end() ? 0 : right->second);
      const double coefficient =
          static_cast<double>(count) /
          std::sqrt(static_cast<double>(wrong_counts_.elements) * static_cast<double>(both));
      double& line = lines[trait.first];
      line = std::max(line, coefficient);
    }
    return lines;
  }

  const SuspicionQuestion& q_;
  const CaseLaunch& launch_;
  const ptx::LaunchOptions& options_;
  std::vector<uint64_t> wrong_, right_, elsewhere_;  // elements
  Counts wrong_counts_, right_counts_;
  bool too_much_ = false;
};

}  // namespace

Result<std::map<uint32_t, double>> SuspicionOfLines(const SuspicionQuestion& question,
                                                    const ptx::LaunchOptions& options) {
  return Spectrum(question, options).Run();
}

}  // namespace hloscope::replay
