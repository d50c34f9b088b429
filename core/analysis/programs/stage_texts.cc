// Fingerprints first: modules are read again only where these differ.
#include "core/analysis/programs/stage_texts.h"

#include <fmt/format.h>

#include "core/analysis/align/compare_modules.h"
#include "core/analysis/align/metadata_difference.h"
#include "core/base/quick_hash.h"
#include "core/dump/load.h"
#include "core/dump/stage_files.h"

namespace hloscope::analysis {
namespace {

class TextComparer {
 public:
  TextComparer(const dump::DumpModel& model, int32_t proto, ProgramReader& reader)
      : model_(model), proto_(proto), reader_(reader) {}

  // Error: the proto cannot be read, whose reader says so.
  Status Run(std::span<const int32_t> files, StageTexts& out) {
    HLOSCOPE_ASSIGN_OR_RETURN(const ReadProgram proto, Read(proto_));
    for (const int32_t text : files) {
      if (KindOf(text) != dump::FileKind::kHloText) continue;
      const Result<ReadProgram> program = Read(text);
      if (!program) {
        out.notes.push_back(fmt::format("{}: not compared with {}: {}", PathOf(text),
                                        PathOf(proto_), program.error().message));
        continue;
      }
      if (IsSameFile(proto.fingerprint, program->fingerprint)) continue;
      Compare(text, program->fingerprint, out);
    }
    return {};
  }

 private:
  dump::FileKind KindOf(int32_t file) const {
    return model_.files()[static_cast<size_t>(file)].kind;
  }
  const std::string& PathOf(int32_t file) const {
    return model_.files()[static_cast<size_t>(file)].path;
  }

  Result<ReadProgram> Read(int32_t file) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView view, model_.OpenFile(file));
    return reader_.Read(view);
  }

  static bool IsSameFile(const ProgramFingerprint& a, const ProgramFingerprint& b) {
    return IsSameProgram(a, b) && a.names == b.names && a.metadata == b.metadata;
  }

  void Compare(int32_t text, const ProgramFingerprint& program, StageTexts& out) {
    const auto a = dump::LoadSoundModule(model_.FullPath(proto_), model_.limits()),
               b = dump::LoadSoundModule(model_.FullPath(text), model_.limits());
    if (!a || !b) return;  // changed since
    const ModuleComparison compared = CompareModules(*a->module, *b->module);
    const std::string what = compared.equal
                                 ? MetadataDifference(*a->module, *b->module)
                                 : FirstChangeOf(*a->module, *b->module, compared).ToString();
    if (what.empty()) return;
    out.notes.push_back(fmt::format("{}: differs from {}, which is used{}: {}", PathOf(text),
                                    PathOf(proto_),
                                    compared.equal ? ", in names and metadata only" : "", what));
    if (!compared.equal) out.programs = MixKeys(out.programs, program.program) | 1;
  }

  const dump::DumpModel& model_;
  int32_t proto_;
  ProgramReader& reader_;
};

}  // namespace

StageTexts CompareStageTexts(const dump::DumpModel& model, int32_t module, int32_t stage,
                             ProgramReader& reader) {
  StageTexts out;
  const std::vector<int32_t> files = dump::ModuleFiles(model, module, stage);
  const bool has_proto = files.size() > 1 && model.files()[static_cast<size_t>(files[0])].kind ==
                                                 dump::FileKind::kHloProto;
  if (has_proto) (void)TextComparer(model, files[0], reader).Run(std::span(files).subspan(1), out);
  return out;
}

}  // namespace hloscope::analysis
