// RunChecks: findings of launches put together, and orders compared.
#include "core/backends/gpusim/run_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/backends/gpusim/lines_behind.h"
#include "core/base/counted.h"

namespace hloscope::replay {
namespace {

RunFinding::Side SideOf(const Place& place, const std::string& form,
                        const std::array<uint32_t, 3>& block,
                        const std::array<uint32_t, 3>& thread) {
  return {place.file,
          form,
          place.line,
          place.column,
          {block[0], block[1], block[2]},
          {thread[0], thread[1], thread[2]}};
}

RunFinding Found(std::string_view kind, std::string what, std::string instruction,
                 std::string kernel) {
  RunFinding finding;
  finding.kind = kind;
  finding.what = std::move(what);
  finding.instruction = std::move(instruction);
  finding.kernel = std::move(kernel);
  return finding;
}

std::string ArgumentText(const LaunchedFor& launched, size_t argument) {
  return fmt::format("argument {} ({})", argument, launched.name_of(argument));
}

RunFinding FindingOf(const ptx::Finding& finding, const LaunchedFor& launched) {
  RunFinding out =
      Found(ptx::ToString(finding.kind), finding.what, launched.instruction, finding.kernel);
  out.at = SideOf(finding.at.place, finding.at.form, finding.at.block, finding.at.thread);
  if (finding.other) {
    out.other = SideOf(finding.other->place, finding.other->form, finding.other->block,
                       finding.other->thread);
  }
  out.memory = finding.argument ? ArgumentText(launched, *finding.argument) : finding.memory;
  out.byte = static_cast<int64_t>(finding.byte);
  out.count = static_cast<int64_t>(finding.count);
  return out;
}

RunFinding FindingOf(const ptx::Fault& fault, const LaunchedFor& launched) {
  RunFinding out = Found("memory", fault.what, launched.instruction, fault.kernel);
  out.at = SideOf(fault.place, fault.form, fault.block, fault.thread);
  if (fault.argument) out.memory = ArgumentText(launched, *fault.argument);
  return out;
}

}  // namespace

void RunChecks::Allocated(std::span<const std::byte> memory) {
  if (!races_ && !uninitialised_) return;
  if (shadow_ == nullptr) shadow_ = std::make_shared<ptx::ShadowMemory>();
  shadow_->Add(memory);
}

void RunChecks::Written(std::span<const std::byte> memory) {
  if (shadow_ != nullptr) shadow_->Written(memory);
}

void RunChecks::Copied(const std::byte* from, const std::byte* to, uint64_t bytes) {
  if (shadow_ != nullptr) shadow_->Copied(from, to, bytes);
}

Result<ptx::LaunchResult> RunChecks::Launch(const LaunchedFor& launched, const ptx::Module& module,
                                            const ptx::LaunchRequest& request,
                                            ptx::LaunchOptions options) {
  std::vector<Bytes> in_order;
  if (shuffle_) {
    std::vector<Bytes> before;
    for (const ptx::Argument& argument : request.arguments)
      before.emplace_back(argument.memory.begin(), argument.memory.end());
    HLOSCOPE_ASSIGN_OR_RETURN(const ptx::LaunchResult first, ptx::Launch(module, request, options));
    if (!first.fault) {
      for (size_t i = 0; i < request.arguments.size(); ++i) {
        const std::span<std::byte> memory = request.arguments[i].memory;
        in_order.emplace_back(memory.begin(), memory.end());
      }
    }
    // What is only read may be memory that nobody can write to.
    for (size_t i = 0; i < request.arguments.size(); ++i) {
      const std::span<std::byte> memory = request.arguments[i].memory;
      if (!std::ranges::equal(before[i], memory)) std::ranges::copy(before[i], memory.begin());
    }
    options.shuffle = shuffle_;
    ++shuffled_;
  }
  options.checks = {races_, uninitialised_, shadow_.get()};
  HLOSCOPE_ASSIGN_OR_RETURN(ptx::LaunchResult result, ptx::Launch(module, request, options));
  for (const ptx::Finding& finding : result.findings) {
    RunFinding found = FindingOf(finding, launched);
    if (lines_told_ < kMaxReported) {
      found.what += LinesBehind(finding, module, request, options);
      ++lines_told_;
    }
    Keep(std::move(found));
  }
  if (result.fault) {
    RunFinding found = FindingOf(*result.fault, launched);
    found.what += LinesBehind(*result.fault, module, request, options);
    Keep(std::move(found));
  } else if (!in_order.empty()) {
    KeepDifference(launched, request, in_order);
  }
  return result;
}

void RunChecks::KeepDifference(const LaunchedFor& launched, const ptx::LaunchRequest& request,
                               const std::vector<Bytes>& in_order) {
  for (size_t i = 0; i < std::min(in_order.size(), launched.results); ++i) {
    const std::span<std::byte> memory = request.arguments[i].memory;
    const auto differs = std::ranges::mismatch(in_order[i], memory);
    if (differs.in1 == in_order[i].end()) continue;
    RunFinding finding =
        Found("order", "gives other bytes in another order of blocks, warps and lanes",
              launched.instruction, request.entry);
    finding.memory = ArgumentText(launched, i);
    finding.byte = differs.in1 - in_order[i].begin();
    return Keep(std::move(finding));
  }
}

void RunChecks::CheckResult(const std::string& instruction, size_t number,
                            std::span<const std::byte> memory) {
  if (!uninitialised_) return;
  const std::optional<uint64_t> first = shadow_->FirstUnwritten(memory);
  if (!first) return;
  RunFinding finding =
      Found("uninitialised", "is a result that was not written completely", instruction, "");
  finding.memory = fmt::format("result {}", number);
  finding.byte = static_cast<int64_t>(*first);
  Keep(std::move(finding));
}

void RunChecks::Keep(RunFinding finding) {
  const Key key{finding.kind,
                finding.instruction,
                finding.kernel,
                finding.at ? finding.at->file : "",
                finding.at ? finding.at->line : 0,
                finding.other ? finding.other->line : 0,
                finding.memory};
  const auto [at, is_new] = found_.try_emplace(key, findings_.size());
  if (is_new) {
    findings_.push_back(std::move(finding));
  } else {
    findings_[at->second].count += finding.count;
  }
}

void RunChecks::Add(const RunChecks& other) {
  for (const RunFinding& finding : other.findings_) Keep(finding);
  shuffled_ += other.shuffled_;
}

void RunChecks::Tell(RunStream& stream) const {
  if (shuffle_) {
    stream.Take(
        RunWarning{fmt::format("blocks, warps and lanes of atomics ran in the order of seed {} in "
                               "{}, each also in its default order",
                               *shuffle_, Counted(shuffled_, "launch", "launches"))});
  }
  for (const RunFinding& finding : findings_) stream.Take(finding);
}

}  // namespace hloscope::replay
