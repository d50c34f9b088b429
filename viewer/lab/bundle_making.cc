// Making bundles in a child process.
#include "viewer/lab/bundle_making.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/child_process.h"
#include "core/base/counted.h"
#include "core/debug/diverge/write_verdict.h"
#include "core/debug/reduce/write_candidate.h"
#include "core/replay/pjrt/scratch_folder.h"
#include "core/replay/workers/worker_environment.h"
#include "viewer/lab/fault_run.h"
#include "viewer/lab/reduction.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {
namespace {

// All that the process needs.
struct Packing {
  std::string program, module;
  std::string verdict;                                 // JSON; empty: none
  std::shared_ptr<const debug::ReduceReport> reduced;  // null: none
  debug::RunRequest request;
  BundleWish wish;
  Limits limits;
};

// The error in the last line of JSON, or what else it printed.
std::string WhatItSaid(const std::string& output) {
  const size_t line = output.rfind("{\"file\"");
  if (line != std::string::npos) {
    const auto json =
        nlohmann::json::parse(output.substr(line, output.find('\n', line) - line), nullptr, false);
    if (json.is_object() && json.contains("error") && json["error"].is_string()) {
      return json["error"].get<std::string>();
    }
  }
  constexpr size_t kMost = 400;
  return output.substr(0, kMost);
}

Result<std::vector<std::string>> ArgumentsOf(const Packing& packing, const std::string& scratch) {
  std::vector<std::string> arguments = {
      "hloscope", "bundle",          "create",   packing.module,
      "--output", packing.wish.path, "--values", std::string(debug::ToString(packing.wish.values)),
      "--json"};
  for (std::string& argument : debug::RunArguments(packing.request)) {
    arguments.push_back(std::move(argument));
  }
  if (!packing.wish.note.empty()) arguments.push_back("--note=" + packing.wish.note);
  if (packing.wish.no_source) arguments.emplace_back("--no-source");
  if (!packing.verdict.empty()) {
    const std::string path = scratch + "/verdict.json";
    HLOSCOPE_TRY(WriteFileAtomically(path, packing.verdict));
    arguments.insert(arguments.end(), {"--verdict", path});
  }
  if (packing.reduced != nullptr) {
    const std::string path = scratch + "/reduced.hlo";
    HLOSCOPE_TRY(debug::WriteCandidate(packing.reduced->smallest, true, path));
    arguments.insert(arguments.end(), {"--reduced", path});
  }
  return arguments;
}

Computed<MadeFile> Pack(const Packing& packing, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto scratch, replay::ScratchFolder::Make());
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<std::string> arguments,
                            ArgumentsOf(packing, scratch.path()));
  ChildOptions options{.program = packing.program,
                       .arguments = std::move(arguments),
                       .environment = replay::CleanEnvironment({}),
                       .descriptors = {}};
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  const std::string output = child.ReadAll(stop);
  constexpr std::chrono::seconds kToEnd(10);
  const auto exit = child.Wait(kToEnd);
  if (stop.stop_requested()) return EnvironmentError("stopped");
  if (!exit || exit->by_signal || exit->code != 0) return EnvironmentError(WhatItSaid(output));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle,
                            dump::BundleFile::Open(packing.wish.path, packing.limits));
  auto made = std::make_shared<MadeFile>();
  HLOSCOPE_ASSIGN_OR_RETURN(made->manifest, debug::ManifestFromJson(bundle.manifest()));
  made->parts.assign(bundle.listed().begin(), bundle.listed().end());
  std::error_code error;
  made->bytes = static_cast<int64_t>(std::filesystem::file_size(packing.wish.path, error));
  return made;
}

Packing PackingOf(Context& context, int32_t module, const BundleWish& wish) {
  const dump::DumpModel& dump = *context.document.dump();
  Packing packing;
  packing.program = context.experiment.program();
  packing.wish = wish;
  packing.limits = dump.limits();
  int32_t stage = context.navigation.stage();
  if (const auto run = FaultRunOf(context, module)) {
    packing.request = run->request;
    stage = run->stage;
  }
  const int32_t file = dump.ModuleFile(module, stage);
  if (file >= 0) packing.module = dump.FullPath(file);
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
  if (verdict != nullptr && verdict->ready()) {
    const bool kept = verdict == &context.document.verdict();
    packing.verdict =
        kept ? context.document.verdict_json() : debug::VerdictJson({packing.module}, **verdict);
  }
  const Reduction* reduction = ReductionOn(context, module);
  if (reduction != nullptr && reduction->report.ready() &&
      reduction->report->status == debug::ReduceStatus::kReduced) {
    packing.reduced = reduction->report.value;
  }
  return packing;
}

}  // namespace

void MakeBundle(Context& context, int32_t module, const BundleWish& wish) {
  if (!context.document.dump().ready() || module < 0) return;
  Packing packing = PackingOf(context, module, wish);
  if (packing.module.empty()) {
    return context.messages.Post(Severity::kError, "no bundle: this stage has no file");
  }
  auto making = std::make_shared<BundleMaking>();
  making->wish = wish;
  making->made.state = PendingState::kWaiting;
  making->made.task = context.tasks.Start(
      "making a bundle",
      [making, packing = std::move(packing),
       &messages = context.messages](TaskControl& control) -> Tasks::Finish {
        auto made = std::make_shared<Computed<MadeFile>>(
            Guarded<MadeFile>([&](TaskControl& c) { return Pack(packing, c.stop()); }, control));
        return [making, made, &messages] {
          Pending<MadeFile>& pending = making->made;
          pending.state = *made ? PendingState::kReady : PendingState::kFailed;
          if (!*made) {
            pending.error = made->error();
            return messages.Post(Severity::kError, "no bundle: " + made->error().ToString());
          }
          pending.value = **made;
          messages.Post(Severity::kNote, making->wish.path + ": " + MadeText(***made));
        };
      });
  context.marks.bundle = making;
}

const BundleMaking* LastBundle(Context& context) { return context.marks.bundle.get(); }

std::string MadeText(const MadeFile& made) {
  return fmt::format("{} in {}; in a clean process: {}", BytesText(made.bytes),
                     Counted(made.parts.size() + 1, "part"), made.manifest.replayed);
}

std::string RedactedText(const debug::BundleManifest& manifest) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : manifest.redacted) {
    kinds.push_back(fmt::format("{} × {}", count, kind));
  }
  return kinds.empty() ? "nothing" : fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace hloscope::viewer
