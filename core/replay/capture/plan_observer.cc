// Telling the values that a plan wants while they are made.
#include "core/replay/capture/plan_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/analysis/place/boundaries.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::replay {

std::unique_ptr<Search> MakeNonFiniteSearch(const hlo::Module& module, std::string_view request);

namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using runtime::Value;

struct SearchRow {
  std::string_view name;
  std::unique_ptr<Search> (*make)(const Module& module, std::string_view request);
};
constexpr SearchRow kSearches[] = {
    {"nonfinite", MakeNonFiniteSearch},
};

constexpr std::chrono::milliseconds kBetweenProgress{200};

// By computation: it is one of `targets`, or reaches one by calls.
std::vector<bool> Around(const Module& module, std::vector<bool> targets) {
  return hlo::WithCallers(hlo::CallGraphOf(module).calls(), std::move(targets));
}

bool Computes(hlo::Opcode opcode) {
  return opcode != hlo::Opcode::kParameter && opcode != hlo::Opcode::kConstant &&
         hlo::Info(opcode).category != hlo::Category::kTuple;
}

}  // namespace

Result<std::unique_ptr<Search>> MakeSearch(const Module& module, const SearchRequest& request) {
  const auto row = std::ranges::find(kSearches, std::string_view(request.name), &SearchRow::name);
  if (row == std::end(kSearches)) return InputError("there is no search called " + request.name);
  std::unique_ptr<Search> search = row->make(module, request.request);
  if (search == nullptr) {
    return InputError(fmt::format("the request of the search {} is malformed", request.name));
  }
  return search;
}

PlanObserver::PlanObserver(const Module& module, const CapturePlan& plan, RunStream& stream)
    : module_(module),
      plan_(plan),
      stream_(stream),
      forms_(module.instructions().size(), CaptureForm::kNone),
      lanes_(module.computations().size(), false),
      next_progress_(std::chrono::steady_clock::now() + kBetweenProgress) {}

Result<std::unique_ptr<PlanObserver>> PlanObserver::Make(const Module& module,
                                                         const CapturePlan& plan,
                                                         RunStream& stream) {
  std::unique_ptr<PlanObserver> observer(new PlanObserver(module, plan, stream));
  for (const CaptureItem& item : plan.items) HLOSCOPE_TRY(observer->Want(item));
  if (plan.search) {
    HLOSCOPE_ASSIGN_OR_RETURN(observer->search_, MakeSearch(module, *plan.search));
  }
  if (plan.until) {
    if (plan.until->instruction.index >= module.instructions().size()) {
      return InputError("a capture plan ends at an instruction that the module does not have");
    }
    observer->lanes_[module[plan.until->instruction].computation.index] = true;
    observer->newest_.resize(module.instructions().size());
  }
  observer->lanes_ = Around(module, std::move(observer->lanes_));
  return observer;
}

Status PlanObserver::Want(const CaptureItem& item) {
  switch (item.scope) {
    case CaptureScope::kInstructions:
      for (const InstructionId id : item.instructions) {
        if (id.index >= forms_.size()) {
          return InputError("a capture plan names an instruction that the module does not have");
        }
        forms_[id.index] = item.form;
        lanes_[module_[id].computation.index] = true;
      }
      return {};
    case CaptureScope::kFusionBoundaries:
      for (const InstructionId id : analysis::BoundariesOf(module_)) forms_[id.index] = item.form;
      return {};
    case CaptureScope::kAll:
      for (size_t i = 0; i < forms_.size(); ++i) {
        if (Computes(module_.instructions()[i].opcode)) forms_[i] = item.form;
      }
      return {};
  }
  return InputError("a capture plan requests a value that does not exist");
}

bool PlanObserver::WantsLanes(InstructionId caller) {
  if (search_ != nullptr && search_->WantsLanes(caller)) return true;
  return std::ranges::any_of(hlo::CallGraphOf(module_).calls(caller),
                             [&](const hlo::Call& call) { return lanes_[call.callee.index]; });
}

Status PlanObserver::OnValue(const runtime::Site& site, std::span<const Value> operands,
                             const Value& value) {
  if (site.frames.empty() && site.device == 0) TellProgress();
  if (search_ != nullptr) {
    if (Status seen = search_->OnValue(site, operands, value); !seen.has_value()) {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      return seen;
    }
  }
  const bool ends = plan_.until && site.instruction == plan_.until->instruction;
  if (forms_[site.instruction.index] == CaptureForm::kNone && !ends) return {};
  const std::lock_guard lock(mutex_);
  return Note(site, value);
}

// Not more often than anybody looks.
void PlanObserver::TellProgress() {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + kBetweenProgress;
  const std::lock_guard lock(mutex_);
  stream_.Take(RunProgress{"instructions", done_, module_.entry().instruction_count});
}

Status PlanObserver::Note(const runtime::Site& site, const Value& value) {
  const uint32_t index = site.instruction.index;
  if (!plan_.until) {
    Tell(site.device, site.frames, site.instruction, value);
    return {};
  }
  if (site.device != 0 || ended_) return {};
  if (forms_[index] != CaptureForm::kNone) {
    newest_[index] = {{site.frames.begin(), site.frames.end()}, value, true};
  }
  if (site.instruction != plan_.until->instruction) return {};
  if (executions_++ < plan_.until->execution) return {};
  ended_ = true;
  return std::unexpected(EndedByPlan());
}

void PlanObserver::Tell(int64_t device, std::span<const runtime::Frame> path,
                        InstructionId instruction, const Value& value) {
  const CaptureForm form = forms_[instruction.index];
  ValueKey key{plan_.stage, device, {path.begin(), path.end()}, instruction, 0};
  std::vector<const Value*> pending = {&value};
  while (!pending.empty()) {
    const Value& next = *pending.back();
    pending.pop_back();
    if (next.is_tuple()) {
      for (size_t i = next.elements().size(); i-- > 0;) pending.push_back(&next.elements()[i]);
      continue;
    }
    stream_.Take(CapturedValue{key, FormOf(next.ToLiteral(), form)});
    ++key.leaf;
  }
}

void PlanObserver::Finish() {
  const std::lock_guard lock(mutex_);
  if (search_ != nullptr) stream_.Take(search_->Finding());
  for (uint32_t i = 0; ended_ && i < newest_.size(); ++i) {
    if (newest_[i].seen) Tell(0, newest_[i].path, InstructionId(i), newest_[i].value);
  }
}

}  // namespace hloscope::replay
