#include "core/backends/cuda/line_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"

namespace hloscope::replay::cuda {

using profiler::PtxLine;
using profiler::cupti::PcSampler;
using profiler::cupti::PcSamples;

size_t LinedCode::Add(std::string ptx, std::vector<std::byte> cubin) {
  auto kept = std::make_unique<const std::string>(std::move(ptx));
  const std::string_view text = *kept;
  texts_.push_back(
      std::make_unique<const Text>(std::move(kept), profiler::KernelText(text), std::move(cubin)));
  return texts_.size() - 1;
}

void LinedCode::Name(std::string entry, size_t text) {
  const Text* const own = texts_[text].get();
  const uint32_t first = own->lines.FirstOf(entry);
  entries_[std::move(entry)] = {own, first};
}

Result<PtxLine> LinedCode::LineOf(const PcSampler& sampler, const PcSamples& pc) const {
  const auto found = entries_.find(pc.function);
  if (found == entries_.end()) return PtxLine();
  const auto& [text, first] = found->second;
  HLOSCOPE_ASSIGN_OR_RETURN(const uint32_t line, sampler.LineOf(text->cubin, pc));
  PtxLine out = text->lines.LineOf(pc.function, first, line);
  out.count = pc.count();
  out.stalls = pc.stalls;
  return out;
}

void LineSampler::Begin() {
  if (status_.has_value()) status_ = sampler_->Begin();
}

void LineSampler::End(uint64_t external) {
  if (!status_.has_value()) return;
  const auto samples = sampler_->End();
  if (!samples.has_value()) {
    status_ = std::unexpected(samples.error());
    return;
  }
  profiler::PtxLines& lines = lines_[external];
  for (const PcSamples& pc : *samples) {
    auto line = code_.LineOf(*sampler_, pc);
    if (!line.has_value()) {
      status_ = std::unexpected(line.error());
      return;
    }
    if (line->kernel.empty()) {
      others_ += pc.count();
      continue;
    }
    if (line->line == 0) unknown_ += line->count;
    lines.Add(profiler::LineCounting::kSamples, *std::move(line));
  }
}

Result<LineSampler::Found> LineSampler::Finish() {
  HLOSCOPE_TRY(status_);
  Found found{std::move(lines_), sampler_->Finish()};
  const auto missed =
      std::erase_if(found.lines, [](const auto& each) { return each.second.empty(); });
  if (missed > 0) {
    const std::string every = sampler_->period() == 0 ? std::string("the time between two samples")
                                                      : Counted(sampler_->period(), "clock") +
                                                            ", the time between two samples";
    found.warnings.push_back(fmt::format("{} without samples: {} shorter than {}",
                                         Counted(missed, "instruction"),
                                         VerbFor(missed, "it ran", "they ran"), every));
  }
  if (others_ > 0) {
    found.warnings.push_back(
        fmt::format("{} of code that is not ours", Counted(others_, "sample")));
  }
  if (unknown_ > 0) {
    found.warnings.push_back(fmt::format(
        "{} of our code without a line of PTX: the driver's table of lines leaves them out",
        Counted(unknown_, "sample")));
  }
  return found;
}

}  // namespace hloscope::replay::cuda
