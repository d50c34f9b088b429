// Counting stages and gathering tables, one job for each stage and two for each module.
#include "core/dump/dump_summary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>

#include "core/base/jobs.h"
#include "core/base/unique_fd.h"
#include "core/dump/load.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// XLA: tsl/platform SanitizeFileName.
std::string FileNameOf(std::string_view module) {
  std::string out(module);
  for (char& c : out) {
    if (c == '/' || c == '\\' || c == '[' || c == ']' || c == ' ') c = '_';
  }
  return out;
}

class Summary {
 public:
  Summary(const DumpModel& model, const OpenOptions& options, const std::vector<char>& skip)
      : model_(model), options_(options), skip_(skip) {}

  Result<DumpSummary> Make() {
    summary_.modules.resize(model_.modules().size());
    summary_.lossy.resize(summary_.modules.size());
    for (size_t m = 0; m < summary_.modules.size(); ++m) {
      if (m < skip_.size() && skip_[m] != 0) continue;
      const auto& stages = model_.modules()[m].stages;
      summary_.modules[m].stages.resize(stages.size());
      tasks_.push_back({static_cast<int32_t>(m), Task::kPrograms});
      tasks_.push_back({static_cast<int32_t>(m), Task::kBuffers});
      for (size_t s = 0; s < stages.size(); ++s)
        tasks_.push_back({static_cast<int32_t>(m), static_cast<int32_t>(s)});
    }
    std::atomic<int64_t> done = 0;
    auto total = static_cast<int64_t>(tasks_.size());
    auto run = [&](int64_t k) {
      Do(tasks_[static_cast<size_t>(k)]);
      if (options_.progress) options_.progress(++done, total);
    };
    int jobs = options_.jobs > 0 ? options_.jobs : AvailableCpus();
    HLOSCOPE_TRY(ParallelFor(total, jobs, run, options_.stop));
    auto tensorflow = model_.TensorFlow();
    if (tensorflow) {
      summary_.tensorflow = *tensorflow;
      AddWarnings((*tensorflow)->warnings);
    } else {
      AddWarnings({tensorflow.error().ToString()});
    }
    FinishWarnings();
    return std::move(summary_);
  }

 private:
  // A stage to be counted, or tables of the module.
  struct Task {
    static constexpr int32_t kPrograms = -1, kBuffers = -2;
    int32_t module, stage;
  };

  void Do(const Task& task) {
    if (task.stage >= 0) {
      Count(task.module, task.stage);
    } else if (task.stage == Task::kPrograms) {
      Gather(task.module);
    } else {
      Take(task.module, model_.Buffers(task.module),
           summary_.modules[static_cast<size_t>(task.module)].buffers);
    }
  }

  void AddWarnings(const std::vector<std::string>& warnings) {
    std::scoped_lock lock(mutex_);
    warnings_.insert(warnings.begin(), warnings.end());
  }
  void AddWarnings(int32_t module, const std::vector<std::string>& warnings) {
    AddWarnings(warnings);
    // Each module is written by several threads, and only ever set.
    if (!warnings.empty()) {
      std::scoped_lock lock(mutex_);
      summary_.lossy[static_cast<size_t>(module)] = 1;
    }
  }

  void FinishWarnings() {
    AddWarnings({model_.warnings().begin(), model_.warnings().end()});
    for (const std::string& text : model_.LateWarnings()) {
      AddWarnings({text});
      MarkLossy(text);
    }
    summary_.warnings.assign(warnings_.begin(), warnings_.end());
  }

  // Late warnings begin with the path of a file.
  void MarkLossy(std::string_view warning) {
    for (size_t k = 0; k < model_.files().size(); ++k) {
      int32_t module = model_.files()[k].module;
      if (module >= 0 && warning.starts_with(model_.FullPath(static_cast<int32_t>(k))))
        summary_.lossy[static_cast<size_t>(module)] = 1;
    }
  }

  void Count(int32_t module, int32_t stage) {
    StageSummary& out =
        summary_.modules[static_cast<size_t>(module)].stages[static_cast<size_t>(stage)];
    out.file = model_.ModuleFile(module, stage);
    if (out.file < 0) return;
    const ModuleEntry& entry = model_.modules()[static_cast<size_t>(module)];
    if (const StageCounts* counted = model_.StageCountsOf(out.file)) {
      out.counts = *counted;
      out.read = true;
    }
    bool is_proto = model_.files()[static_cast<size_t>(out.file)].kind == FileKind::kHloProto;
    if (!out.read && is_proto) {
      auto bytes = model_.OpenFile(out.file);
      auto counts = bytes ? CountInProto(bytes->bytes()) : std::nullopt;
      if (counts) {
        out.counts = *std::move(counts);
        out.read = true;
      }
    }
    if (!out.read) CountInModule(module, stage, out);
    if (entry.id < 0 || entry.name.empty()) return;
    if (out.read) CheckName(module, out.file, out.counts.module_name);
    for (int32_t file : entry.stages[static_cast<size_t>(stage)].files) {
      if (file != out.file) CheckText(module, file);
    }
  }

  void CheckName(int32_t module, int32_t file, std::string_view name) {
    const std::string& expected = model_.modules()[static_cast<size_t>(module)].name;
    if (FileNameOf(name) == FileNameOf(expected)) return;
    AddWarnings(module,
                {fmt::format("{}: contains module {}, but is named after {}",
                             model_.files()[static_cast<size_t>(file)].path, name, expected)});
  }

  // The text of a stage that was read from its proto: at least it begins as that module's.
  void CheckText(int32_t module, int32_t file) {
    const FileEntry& entry = model_.files()[static_cast<size_t>(file)];
    bool checked = entry.role == FileRole::kModule && entry.kind == FileKind::kHloText &&
                   !entry.path.ends_with(".gz");
    if (!checked) return;
    UniqueFd fd(
        open(model_.FullPath(file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::array<char, 512> head;
    ssize_t got = fd.valid() ? read(fd.get(), head.data(), head.size()) : 0;
    std::string_view text(head.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (!TakeWord(text, "HloModule ")) return;
    size_t end = text.find_first_of(", \n");
    if (end != std::string_view::npos) CheckName(module, file, text.substr(0, end));
  }

  // Texts are read whole: their instructions are not one for each line.
  void CountInModule(int32_t module, int32_t stage, StageSummary& out) {
    std::shared_ptr<const hlo::Module> loaded;
    if (stage != model_.FinalStage(module)) {
      // Passes can be hundreds: they are not kept.
      auto once = LoadSoundModule(model_.FullPath(out.file), model_.limits());
      if (once) loaded = once->module;
    }
    if (loaded == nullptr) {
      auto kept = model_.Module(module, stage);
      if (!kept) {
        AddWarnings(module, {kept.error().ToString()});
        return;
      }
      loaded = *kept;
    }
    const hlo::Module& m = *loaded;
    out.read = true;
    out.counts.module_name = m.name();
    out.counts.instructions = static_cast<int64_t>(m.instructions().size());
    out.counts.computations = static_cast<int64_t>(m.computations().size());
    out.counts.fusions =
        std::ranges::count(m.instructions(), hlo::Opcode::kFusion, &hlo::Instruction::opcode);
  }

  template <typename T>
  void Take(int32_t module, Result<std::shared_ptr<const T>> table,
            std::shared_ptr<const T>& place) {
    if (!table) {
      AddWarnings(module, {table.error().ToString()});
      place = std::make_shared<const T>();
      return;
    }
    place = *std::move(table);
    AddWarnings(module, place->warnings);
  }

  void Gather(int32_t module) {
    ModuleSummary& out = summary_.modules[static_cast<size_t>(module)];
    Take(module, model_.Thunks(module), out.thunks);
    Take(module, model_.Kernels(module), out.kernels);
    int32_t last = model_.FinalStage(module);
    auto final_module = model_.Module(module, last);
    if (!final_module) return;
    const hlo::Module& m = **final_module;
    std::set<std::string, std::less<>> sources;
    for (hlo::StringId file : m.header().stack_frames.file_names) sources.emplace(m[file]);
    for (const hlo::Instruction& instruction : m.instructions()) {
      if (instruction.opcode == hlo::Opcode::kCustomCall) {
        ++out.custom_calls[std::string(
            m.GetString(instruction, hlo::AttributeKey::kCustomCallTarget))];
      }
      const auto* metadata = m.Get<hlo::OpMetadata>(instruction, hlo::AttributeKey::kMetadata);
      if (metadata != nullptr && metadata->source_file.valid()) {
        std::string_view file = m[metadata->source_file];
        if (!file.empty() && !sources.contains(file)) sources.emplace(file);
      }
    }
    sources.erase("dummy_file_name");  // TensorFlow's, where it knows none
    out.source_files.assign(sources.begin(), sources.end());
  }

  const DumpModel& model_;
  const OpenOptions& options_;
  const std::vector<char>& skip_;
  std::vector<Task> tasks_;
  DumpSummary summary_;
  std::mutex mutex_;
  std::set<std::string> warnings_;
};

}  // namespace

Result<DumpSummary> Summarize(const DumpModel& model, const OpenOptions& options,
                              const std::vector<char>& skip) {
  return Summary(model, options, skip).Make();
}

}  // namespace hloscope::dump
