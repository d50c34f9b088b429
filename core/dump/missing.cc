// Which pieces a dump lacks, and what would have written them.
#include "core/dump/missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/dump/advice.h"
#include "core/dump/buffer_table.h"
#include "core/dump/dump_model.h"
#include "core/dump/listing/word_list.h"
#include "core/dump/own_compilation.h"
#include "core/dump/run_record.h"
#include "core/dump/stage_order.h"

namespace hloscope::dump {
namespace {

enum class When : uint8_t { kCompiled, kAlways };
struct PieceRow {
  std::string_view what, roles, devices;
  When when;
  std::string_view flag, why;
  // XLA: service/dump.cc writes it with the text form of the optimised module only.
  bool beside_text = false;
};
// A piece that some module has and others of the same device lack is named for those modules.
constexpr PieceRow kPieces[] = {
    {"PTX", "ptx cubin", "gpu", When::kCompiled, "--xla_dump_emitter_re=^(llvm|ptx|triton-fusion)$",
     "every instruction is a library call, or this XLA writes it only on request"},
    {"LLVM IR", "llvm-optimized llvm-unoptimized", "cpu gpu", When::kCompiled,
     "--xla_dump_emitter_re=^(llvm|ptx|triton-fusion)$",
     "nothing was compiled to kernels, or this XLA writes it only on request"},
    {"thunk sequence", "thunk-sequence", "gpu", When::kCompiled, "--xla_dump_to=DIR",
     "XLA:GPU writes it after every successful compilation"},
    {"thunk metadata", "thunk-metadata", "gpu", When::kCompiled, "",
     "not written before 2025: thunks are matched to instructions by name and order"},
    {"buffer assignment", "buffer-assignment", "cpu gpu", When::kCompiled, "--xla_dump_to=DIR",
     "without it peak memory comes from the .hlo.pb or the memory usage report, if there is one",
     true},
    {"live ranges", "live-range", "cpu gpu", When::kCompiled,
     "--xla_dump_buffer_assignment_analysis",
     "not written by earlier XLA: needed to see which buffers are live at the peak", true},
    {"debug options", "debug-options", "cpu gpu", When::kAlways, "",
     "not written by earlier XLA: the flags of the compilation are unknown"},
    {"snapshots", "snapshot unoptimized-snapshot inputs", "cpu", When::kAlways,
     "--xla_dump_hlo_snapshots", "the inputs of the execution were not recorded"},
    {"snapshots", "snapshot unoptimized-snapshot inputs", "gpu", When::kAlways,
     "--xla_dump_hlo_unoptimized_snapshots", "the inputs of the execution were not recorded"},
};

class Finder {
 public:
  explicit Finder(const DumpModel& model) : model_(model), records_(ReadRunRecords(model)) {}

  std::vector<MissingPiece> Find() {
    if (model_.modules().empty()) {
      NameModules();
      return std::move(missing_);
    }
    FindStages();
    for (const PieceRow& row : kPieces) FindPiece(row);
    FindGraphs();
    std::ranges::stable_sort(missing_, {}, &MissingPiece::module);
    return std::move(missing_);
  }

 private:
  size_t size() const { return model_.modules().size(); }
  const ModuleEntry& module(size_t m) const { return model_.modules()[m]; }

  // A run that dumped what it compiled compiled nothing.
  void NameModules() {
    const bool graphs = std::ranges::any_of(model_.files(), [](const FileEntry& file) {
      return file.role == FileRole::kTensorFlowGraph;
    });
    MissingPiece piece{
        -1, "modules",
        graphs ? "this folder has TensorFlow graphs only" : "XLA writes them only on request",
        "XLA_FLAGS=--xla_dump_to=DIR"};
    const RunRecord* record = records_.For("");
    if (record != nullptr && WasFollowed(piece.flag, *record)) {
      piece.flag.clear();
      piece.why = record->exit != 0
                      ? fmt::format("the program ended with exit status {} before XLA compiled one",
                                    record->exit)
                      : "the run dumped to this folder, and XLA compiled nothing in it";
    }
    missing_.push_back(std::move(piece));
  }

  // Leaves out a flag that was set already, or that the program's framework does not take; says
  // where it is untried.
  void JudgeFlag(MissingPiece& piece, const std::vector<int32_t>& modules) const {
    if (piece.flag.empty()) return;
    bool followed = true;
    std::set<std::pair<std::string_view, std::string_view>> versions;
    for (int32_t m : modules) {
      const ModuleEntry& entry = module(static_cast<size_t>(m));
      const RunRecord* record = records_.For(entry.folder);
      followed = followed && record != nullptr && WasFollowed(piece.flag, *record);
      const bool same = record != nullptr && record->framework == entry.framework;
      versions.emplace(entry.framework, same ? record->version : std::string_view());
    }
    if (followed) {
      piece.why += "; the run had " + piece.flag;
      piece.flag.clear();
      return;
    }
    AdviceVerdict worst;
    for (const auto& [framework, version] : versions) {
      AdviceVerdict verdict = JudgeAdvice(piece.flag, framework, version);
      if (verdict.state > worst.state) worst = std::move(verdict);
    }
    if (!worst.note.empty()) piece.why += "; " + worst.note;
    if (worst.state == AdviceState::kFails) piece.flag.clear();
  }

  // Modules with an id were dumped by XLA or by our own compiler, to which its flags mean nothing;
  // others are files by themselves.
  bool Dumped(size_t m) const {
    return module(m).id >= 0 && !IsOwnCompilation(model_, static_cast<int32_t>(m));
  }
  bool Has(size_t m, StagePhase phase) const {
    return std::ranges::any_of(
        module(m).stages, [&](const StageEntry& stage) { return PhaseOf(stage.name) == phase; });
  }
  bool HasText(size_t m) const {
    return std::ranges::any_of(module(m).files, [&](int32_t k) {
      const FileEntry& file = model_.files()[static_cast<size_t>(k)];
      return file.role == FileRole::kModule && file.kind == FileKind::kHloText;
    });
  }
  bool HasProto(size_t m) const {
    return std::ranges::any_of(module(m).files, [&](int32_t k) {
      const FileEntry& file = model_.files()[static_cast<size_t>(k)];
      bool whole = file.role == FileRole::kModule || file.role == FileRole::kUnoptimizedSnapshot;
      return whole && file.kind == FileKind::kHloProto;
    });
  }

  // The name; of several modules of one name with the number that their files have.
  std::string NameOf(size_t m) const {
    const ModuleEntry& entry = module(m);
    const auto has_name = [&](const ModuleEntry& other) { return other.name == entry.name; };
    if (std::ranges::count_if(model_.modules(), has_name) < 2) return entry.name;
    return fmt::format("{}{}module_{:04}.{}", entry.folder, entry.folder.empty() ? "" : "/",
                       entry.id, entry.name);
  }

  // Names the piece once for the dump if all modules that should have it lack it, else by module.
  template <typename Should, typename Has>
  void Name(MissingPiece piece, Should should, Has has) {
    std::vector<int32_t> without;
    size_t with = 0;
    for (size_t m = 0; m < size(); ++m) {
      if (!Dumped(m) || !should(m)) continue;
      if (has(m)) {
        ++with;
      } else {
        without.push_back(static_cast<int32_t>(m));
      }
    }
    if (without.empty()) return;
    JudgeFlag(piece, without);
    if (with == 0) {
      missing_.push_back(std::move(piece));
      return;
    }
    for (int32_t m : without) {
      piece.module = m;
      piece.module_name = NameOf(static_cast<size_t>(m));
      missing_.push_back(piece);
    }
  }

  void FindStages() {
    auto always = [](size_t) { return true; };
    Name({-1, "before-optimization module",
          "the compilation cache was used, or only later stages were kept",
          "JAX_ENABLE_COMPILATION_CACHE=false"},
         always, [&](size_t m) { return Has(m, StagePhase::kInput); });
    Name({-1, "after-optimization module",
          "the compilation did not finish, or its last stage was not dumped", ""},
         always, [&](size_t m) { return Has(m, StagePhase::kFinal); });
    Name({-1, ".hlo.pb", "large constants are elided in text", "--xla_dump_hlo_as_proto"}, always,
         [&](size_t m) { return HasProto(m); });
    Name({-1, "passes", "needed to see what each pass changed", "--xla_dump_hlo_pass_re=.*"},
         always, [&](size_t m) { return Has(m, StagePhase::kPass); });
  }

  void FindPiece(const PieceRow& row) {
    auto should = [&](size_t m) {
      bool compiled = row.when == When::kAlways || Has(m, StagePhase::kFinal);
      return compiled && ListHolds(row.devices, module(m).device);
    };
    auto has = [&](size_t m) {
      if (row.roles == "live-range") return HasLiveRanges(model_, static_cast<int32_t>(m));
      return std::ranges::any_of(module(m).files, [&](int32_t k) {
        return ListHolds(row.roles, ToString(model_.files()[static_cast<size_t>(k)].role));
      });
    };
    MissingPiece piece{-1, std::string(row.what), std::string(row.why), std::string(row.flag)};
    bool has_text = false;
    for (size_t m = 0; m < size(); ++m) has_text = has_text || (should(m) && HasText(m));
    if (row.beside_text && !has_text) {
      piece.why = "XLA writes it only together with HLO text, which this dump does not have";
      piece.flag = "--xla_dump_hlo_as_text";
    }
    Name(std::move(piece), should, has);
  }

  // Graphs show what TensorFlow left outside its clusters.
  void FindGraphs() {
    bool clusters = std::ranges::any_of(model_.modules(), [](const ModuleEntry& m) {
      return m.framework == "TensorFlow" && m.name.starts_with("cluster_");
    });
    bool graphs = std::ranges::any_of(model_.files(), [](const FileEntry& file) {
      return file.role == FileRole::kTensorFlowGraph;
    });
    if (!clusters || graphs) return;
    MissingPiece piece{-1, "TensorFlow graphs", "needed to see what is outside the clusters",
                       "TF_DUMP_GRAPH_PREFIX=DIR TF_XLA_FLAGS=--tf_xla_clustering_debug"};
    const RunRecord* record = records_.For("");
    const AdviceVerdict verdict =
        JudgeAdvice(piece.flag, "TensorFlow", record == nullptr ? "" : record->version);
    if (!verdict.note.empty()) piece.why += "; " + verdict.note;
    missing_.push_back(std::move(piece));
  }

  const DumpModel& model_;
  RunRecords records_;
  std::vector<MissingPiece> missing_;
};

}  // namespace

std::string MissingPiece::ToString() const {
  const bool says_module = module_name.contains("module_");  // as its files are called
  const std::string of = module_name.empty() ? ""
                         : says_module       ? " of " + module_name
                                             : " of module " + module_name;
  return flag.empty() ? fmt::format("no {}{}: {}", what, of, why)
                      : fmt::format("no {}{}: {} (add {})", what, of, why, flag);
}

std::vector<MissingPiece> FindMissing(const DumpModel& model) { return Finder(model).Find(); }

}  // namespace hloscope::dump
