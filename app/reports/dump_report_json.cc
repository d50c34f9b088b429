// A dump as one JSON object.
#include "app/reports/dump_report.h"
#include "app/reports/error_report.h"
#include "app/reports/kernel_report.h"
#include "app/reports/recompilation_report.h"
#include "core/base/checked.h"
#include "core/base/json.h"
#include "core/dump/gpu_target.h"
#include "core/dump/logged_errors.h"
#include "core/dump/processes.h"
#include "core/graph/kernel_work.h"
#include "profiler/device_facts.h"

namespace hloscope::app {
namespace {

using dump::DumpModel;

// One module.
class PartWriter {
 public:
  PartWriter(const DumpReport& report, size_t module)
      : report_(report),
        model_(*report.model),
        summary_(report.summary),
        module_(module),
        json_(part_.text) {}

  ModulePart Write() {
    WriteModule(module_);
    const analysis::Placement& placement = report_.placements[module_];
    part_.counts = placement.counts;
    part_.bytes = placement.bytes;
    part_.unknown_transfers = placement.unknown_transfers;
    for (const analysis::Transfer& transfer : placement.transfers) {
      if (!part_.transfers.empty()) part_.transfers += ',';
      JsonWriter json(part_.transfers);
      WriteTransfer(transfer, json);
    }
    return std::move(part_);
  }

 private:
  void File(std::string_view key, int32_t file) {
    json_.Key(key);
    if (file < 0) {
      json_.Null();
    } else {
      json_.Value(model_.files()[static_cast<size_t>(file)].path);
    }
  }

  void Range(std::string_view key, const dump::TextRange& range) {
    File(key, range.file);
    if (!range.found() || range.first_line == 0) return;
    json_.Key(std::string(key) + "_lines").BeginArray();
    json_.Value(range.first_line).Value(range.last_line).EndArray();
  }

  void OrNull(std::string_view key, std::string_view text) {
    json_.Key(key);
    text.empty() ? json_.Null() : json_.Value(text);
  }

  void WriteModule(size_t m) {
    const dump::ModuleEntry& entry = model_.modules()[m];
    const dump::ModuleSummary& module = summary_.modules[m];
    json_.BeginObject().Field("name", entry.name).Field("id", entry.id);
    json_.Key("end_id");
    entry.end_id < 0 ? json_.Null() : json_.Value(entry.end_id);
    json_.Field("graph_hash", entry.origin.hash).Field("graph_place", entry.origin.place);
    const int32_t program = model_.FindFile(static_cast<int32_t>(m), dump::FileRole::kStableHlo);
    OrNull("program", program < 0 ? "" : model_.files()[static_cast<size_t>(program)].path);
    json_.Field("framework", entry.framework).Field("device", entry.device);
    json_.Field("target", entry.target);
    OrNull("device_name", DeviceName());
    const hlo::Module* compiled = report_.compiled[m].get();
    if (compiled != nullptr) {
      json_.Field("num_partitions", compiled->header().num_partitions);
      json_.Field("replica_count", compiled->header().replica_count);
    }
    json_.Field("folder", entry.folder);
    json_.Field("timestamp", entry.timestamp).Field("mixed", entry.is_mixed);
    json_.Key("earlier_files").BeginArray();
    for (const int32_t k : entry.earlier_files)
      json_.Value(model_.files()[static_cast<size_t>(k)].path);
    json_.EndArray();
    const int32_t final_stage = model_.FinalStage(static_cast<int32_t>(m));
    WriteFingerprint(m, final_stage < 0 ? entry.stages.size() : static_cast<size_t>(final_stage));
    WriteStages(entry, module);
    json_.Key("kernels").BeginArray();
    for (const dump::Kernel& kernel : module.kernels->kernels) WriteKernel(kernel);
    json_.EndArray().Key("thunks").BeginArray();
    for (const dump::Thunk& thunk : module.thunks->thunks) WriteThunk(thunk);
    json_.EndArray();
    WriteBuffers(*module.buffers);
    json_.Key("custom_calls").BeginObject();
    for (const auto& [target, count] : module.custom_calls) json_.Field(target, count);
    json_.EndObject().Key("source_files").BeginArray();
    for (const std::string& file : module.source_files) json_.Value(file);
    json_.EndArray().Key("overview");
    if (compiled == nullptr || !report_.overviews[m].compiled) {
      json_.Null();
    } else {
      graph::WriteOverview(*compiled, report_.overviews[m], report_.placements[m], json_);
    }
    json_.Key("work");
    if (compiled == nullptr || !report_.overviews[m].compiled) {
      json_.Null();
    } else {
      graph::WriteWork(*compiled, graph::MapKernels(*compiled, report_.placements[m]),
                       TargetDevice(), json_);
    }
    json_.Key("placement");
    if (compiled == nullptr) {
      json_.Null();
    } else {
      analysis::WritePlacement(*compiled, report_.placements[m], json_);
    }
    json_.EndObject();
  }

  // As its own description says it.
  std::string DeviceName() const {
    const int32_t file = model_.FindFile(static_cast<int32_t>(module_), dump::FileRole::kGpuTarget);
    return FactsIn(file).name;
  }
  profiler::DeviceFacts TargetDevice() const {
    return FactsIn(dump::FindGpuTarget(model_, static_cast<int32_t>(module_)));
  }
  profiler::DeviceFacts FactsIn(int32_t file) const {
    if (file < 0) return {};
    const auto text = model_.OpenFile(file);
    return text ? profiler::FactsFromTarget(text->bytes()) : profiler::DeviceFacts();
  }

  void WriteTransfer(const analysis::Transfer& transfer, JsonWriter& json) const {
    json.BeginObject().Field("module", model_.modules()[module_].name);
    json.Field("instruction", report_.compiled[module_]->name(transfer.instruction));
    json.Field("direction", KeyOf(transfer.direction)).Key("bytes");
    transfer.bytes < 0 ? json.Null() : json.Value(transfer.bytes);
    json.Key("executions");
    transfer.executions < 0 ? json.Null() : json.Value(transfer.executions);
    json.Field("reason", KeyOf(transfer.reason)).EndObject();
  }

  void WriteFingerprint(size_t module, size_t stage) {
    const auto& programs = report_.programs[module];
    json_.Key("fingerprint");
    if (stage >= programs.size() || !programs[stage]) {
      json_.Null();
      return;
    }
    const analysis::ProgramFingerprint& fingerprint = programs[stage]->fingerprint;
    json_.Value(ToString(fingerprint));
    if (fingerprint.elided > 0) json_.Field("elided_constants", fingerprint.elided);
  }

  void WriteStages(const dump::ModuleEntry& entry, const dump::ModuleSummary& module) {
    json_.Key("stages").BeginArray();
    for (size_t s = 0; s < entry.stages.size(); ++s) {
      const dump::StageEntry& stage = entry.stages[s];
      const dump::StageSummary& counts = module.stages[s];
      json_.BeginObject().Field("name", stage.name);
      OrNull("pipeline", stage.pipeline);
      OrNull("pass", stage.pass);
      File("file", counts.file);
      if (counts.read) {
        json_.Field("instructions", counts.counts.instructions);
        json_.Field("fusions", counts.counts.fusions);
      } else {
        json_.Key("instructions").Null().Key("fusions").Null();
      }
      WriteFingerprint(module_, s);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteKernel(const dump::Kernel& kernel) {
    json_.BeginObject().Field("name", kernel.name);
    OrNull("instruction", kernel.instruction);
    if (kernel.instructions.size() > 1) {
      json_.Key("instructions").BeginArray();
      for (const std::string& name : kernel.instructions) json_.Value(name);
      json_.EndArray();
    }
    json_.Field("tie", dump::ToString(kernel.tie));
    if (!kernel.note.empty()) json_.Field("note", kernel.note);
    Range("ptx", kernel.ptx);
    Range("llvm", kernel.llvm.found() ? kernel.llvm : kernel.llvm_unoptimized);
    if (kernel.triton.found()) File("triton", kernel.triton.file);
    if (kernel.mlir.found()) File("mlir", kernel.mlir.file);
    if (kernel.object.found()) File("object", kernel.object.file);
    WriteLaunch(kernel, json_);
    json_.EndObject();
  }

  void WriteThunk(const dump::Thunk& thunk) {
    json_.BeginObject().Field("id", thunk.id).Field("kind", thunk.kind);
    json_.Field("depth", thunk.depth);
    OrNull("kernel", thunk.kernel);
    OrNull("library", thunk.library);
    OrNull("instruction", thunk.instruction);
    json_.EndObject();
  }

  void WriteBuffers(const dump::BufferTable& buffers) {
    bool known = buffers.source != dump::BufferSource::kNone;
    json_.Field("buffers", known ? buffers.allocations.size() : 0);
    json_.Key("peak_bytes");
    known ? json_.Value(buffers.total_bytes) : json_.Null();
    if (buffers.has_values()) {
      json_.Field("parameter_bytes", buffers.parameter_bytes);
      json_.Field("result_bytes", buffers.live_out_bytes);
      json_.Field("constant_bytes", buffers.constant_bytes);
      json_.Field("temporary_bytes", buffers.temporary_bytes);
    }
    json_.Key("live_peak_bytes");
    buffers.live_peak_bytes >= 0 ? json_.Value(buffers.live_peak_bytes) : json_.Null();
    json_.Key("peak_values").BeginArray();
    constexpr size_t kShown = 8;
    for (size_t k = 0; k < buffers.live_peak_values.size() && k < kShown; ++k) {
      const auto& value = buffers.values[static_cast<size_t>(buffers.live_peak_values[k])];
      json_.BeginObject().Field("instruction", value.instruction).Field("bytes", value.size);
      json_.Field("shape", value.shape).EndObject();
    }
    json_.EndArray();
  }

  const DumpReport& report_;
  const DumpModel& model_;
  const dump::DumpSummary& summary_;
  size_t module_;
  ModulePart part_;
  JsonWriter json_;
};

// All of them, and what is said of the dump.
class Writer {
 public:
  explicit Writer(const DumpReport& report)
      : report_(report), model_(*report.model), summary_(report.summary), json_(out_) {}

  std::string Write() {
    size_t bytes = 0;
    for (const ModulePart& part : report_.parts) bytes += part.text.size();
    out_.reserve(bytes + model_.files().size() * 256);
    json_.BeginObject().Field("file", model_.path());
    json_.Field("processes", dump::ProcessesIn(model_));
    json_.Key("modules").BeginArray();
    for (const ModulePart& part : report_.parts) Append(part.text);
    json_.EndArray();
    WritePlacements();
    WriteTensorFlow();
    WriteRecompilations(report_.recompilations, json_.Key("recompilations"));
    WriteErrors();
    WriteFiles();
    json_.Key("missing").BeginArray();
    for (const dump::MissingPiece& piece : model_.missing()) {
      if (report_.only < 0 || piece.module < 0 || piece.module == report_.only)
        json_.Value(piece.ToString());
    }
    json_.EndArray().Key("warnings").BeginArray();
    for (const std::string& text : summary_.warnings) json_.Value(text);
    for (const std::string& text : report_.recompilations.warnings) json_.Value(text);
    json_.EndArray().EndObject();
    out_ += '\n';
    return std::move(out_);
  }

 private:
  // Elements of an array that are JSON already.
  void Append(std::string_view elements) {
    if (elements.empty()) return;
    if (!out_.ends_with('[')) out_ += ',';
    out_ += elements;
  }

  void OrNull(std::string_view key, std::string_view text) {
    json_.Key(key);
    text.empty() ? json_.Null() : json_.Value(text);
  }

  // The sum over all modules.
  void WritePlacements() {
    json_.Key("placement").BeginObject();
    int64_t bytes = 0, unknown = 0;
    for (int place = 0; place < analysis::kPlaceCount; ++place) {
      int64_t count = 0;
      for (const ModulePart& part : report_.parts) count += part.counts[static_cast<size_t>(place)];
      json_.Field(KeyOf(static_cast<analysis::Place>(place)), count);
    }
    json_.Key("transfers").BeginArray();
    for (const ModulePart& part : report_.parts) {
      bytes = CheckedAdd(bytes, part.bytes).value_or(INT64_MAX);
      unknown += part.unknown_transfers;
      Append(part.transfers);
    }
    json_.EndArray().Field("bytes", bytes).Field("unknown_transfers", unknown).EndObject();
  }

  void WriteTensorFlow() {
    const dump::TensorFlowSummary& tf = *summary_.tensorflow;
    json_.Key("tensorflow").BeginObject();
    OrNull("sentence", tf.verdict.sentence);
    OrNull("fix", tf.verdict.fix);
    json_.Field("auto_clustering", dump::NameOf(tf.verdict.state));
    json_.Field("operations", tf.verdict.operations).Field("clustered", tf.verdict.clustered);
    json_.Key("compiled_functions").BeginArray();
    for (const std::string& name : tf.verdict.compiled) json_.Value(name);
    json_.EndArray().Key("clusters").BeginArray();
    for (const dump::TensorFlowCluster& cluster : tf.clusters) {
      json_.BeginObject().Field("name", cluster.name).Key("nodes");
      cluster.nodes < 0 ? json_.Null() : json_.Value(cluster.nodes);
      json_.Key("members").BeginArray();
      for (const std::string& member : cluster.members) json_.Value(member);
      json_.EndArray().Key("devices").BeginArray();
      for (const std::string& device : cluster.devices) json_.Value(device);
      json_.EndArray().Key("operations").BeginObject();
      for (const auto& [op, count] : cluster.operations) json_.Field(op, count);
      json_.EndObject().Key("module");
      cluster.modules.empty() ? json_.Null() : json_.Value(ModuleName(cluster.modules.front()));
      json_.Key("modules").BeginArray();
      for (int32_t module : cluster.modules) json_.Value(ModuleName(module));
      json_.EndArray();
      BytesOrNull("bytes_in", cluster.bytes_in);
      BytesOrNull("bytes_out", cluster.bytes_out);
      OrNull("part", cluster.part);
      json_.Field("also_without_xla", cluster.also_without_xla);
      json_.EndObject();
    }
    json_.EndArray().Key("unclustered").BeginArray();
    for (const dump::TensorFlowNode& node : tf.unclustered) WriteOutside(node);
    json_.EndArray().Key("in_functions").BeginArray();
    for (const dump::TensorFlowNode& node : tf.in_functions) WriteOutside(node);
    json_.EndArray().Key("borders").BeginArray();
    for (const dump::ClusterBorder& border : tf.borders) {
      json_.BeginObject().Field("from", border.from).Field("to", border.to);
      OrNull("from_cluster", border.from_cluster);
      OrNull("to_cluster", border.to_cluster);
      OrNull("type", border.type == 0 ? "" : dump::TensorFlowTypeName(border.type));
      BytesOrNull("bytes", border.bytes);
      json_.Field("copied", border.copied()).EndObject();
    }
    json_.EndArray().Key("devices").BeginArray();
    for (const std::string& device : tf.devices) {
      json_.BeginObject().Field("name", device);
      OrNull("meaning", std::string(dump::DescribeTensorFlowDevice(device)));
      json_.EndObject();
    }
    json_.EndArray().EndObject();
  }

  void WriteErrors() {
    const dump::LoggedErrors logged = dump::ErrorsInLogs(model_);
    json_.Key("errors").BeginArray();
    for (const dump::LoggedError& error : logged.errors)
      WriteError(json_, error.error, model_.files()[static_cast<size_t>(error.file)].path);
    json_.EndArray();
  }

  std::string_view ModuleName(int32_t module) const {
    return model_.modules()[static_cast<size_t>(module)].name;
  }
  void BytesOrNull(std::string_view key, int64_t bytes) {
    json_.Key(key);
    bytes < 0 ? json_.Null() : json_.Value(bytes);
  }

  void WriteOutside(const dump::TensorFlowNode& node) {
    json_.BeginObject().Field("name", node.name).Field("op", node.op);
    OrNull("device", node.device);
    OrNull("function", node.function);
    OrNull("graph", node.graph < 0 ? "" : model_.files()[static_cast<size_t>(node.graph)].path);
    json_.Field("kind", dump::NameOf(node.why));
    OrNull("reason", node.reason);
    OrNull("evidence", node.evidence);
    OrNull("fix", node.fix);
    OrNull("part", node.part);
    json_.Field("by_log", node.by_log).Field("eager", node.eager).EndObject();
  }

  void WriteFiles() {
    json_.Key("files").BeginArray();
    for (const dump::FileEntry& file : model_.files()) {
      json_.BeginObject().Field("file", file.path).Field("role", dump::ToString(file.role));
      json_.Field("kind", dump::ToString(file.kind)).Field("bytes", file.bytes);
      json_.Field("module", file.module).Field("stage", file.stage).EndObject();
    }
    json_.EndArray();
  }

  const DumpReport& report_;
  const DumpModel& model_;
  const dump::DumpSummary& summary_;
  std::string out_;
  JsonWriter json_;
};

}  // namespace

ModulePart JsonPart(const DumpReport& report, size_t module) {
  return PartWriter(report, module).Write();
}
std::string DumpJson(const DumpReport& report) { return Writer(report).Write(); }

}  // namespace hloscope::app
