// Text: any file of the dump. It follows the selection through the stages until a file is chosen.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <charconv>

#include "core/dump/instruction_lookup.h"
#include "core/hlo/text/text.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/stage_heat.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/hover_words.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/text_line.h"
#include "viewer/widgets/text_pane.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using HighlightedLines = std::set<int64_t>;

struct HighlightedLinesKey {
  using Value = HighlightedLines;
  TextKey text;
  std::vector<std::string> names;
  auto operator<=>(const HighlightedLinesKey&) const = default;
};

// The text of a stage: its text file, or a print of the module where only a proto was dumped.
Result<std::shared_ptr<const TextDocument>> StageText(const dump::DumpModel& dump, int32_t m,
                                                      int32_t s, const std::stop_token& stop) {
  const dump::StageEntry& stage =
      dump.modules()[static_cast<size_t>(m)].stages[static_cast<size_t>(s)];
  for (int32_t file : stage.files) {
    if (dump.files()[static_cast<size_t>(file)].kind != dump::FileKind::kHloText) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(FileView view, dump.OpenFile(file));
    return TextDocument::Make(std::move(view), dump::FileKind::kHloText, stop);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto module, dump.Module(m, s));
  std::string text;
  hlo::PrintText(*module, hlo::TextFormat::kElided, text);
  return TextDocument::Make(FileView::FromBytes(stage.name + " (printed)", std::move(text)),
                            dump::FileKind::kHloText, stop);
}

class TextView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!context.document.dump().ready()) {
      Sentence(frame, "text files of the dump: HLO, LLVM IR, PTX, buffer assignments, options");
      return;
    }
    if (generation_ != context.document.generation()) Forget(context);
    Follow(context);
    DrawBar(frame);
    const Pending<TextDocument>* document = Document(context);
    if (document == nullptr) {
      Sentence(frame, "no text files in this dump");
      return;
    }
    if (!ShowPending(frame, *document, "the text")) return;
    pane_.Show(document->value);
    pane_.SetWords(WordsOf(context, *document->value));
    FindHeat(frame);
    if (heat_ != nullptr) DrawLegend(frame, HeatLegend(frame.theme, heat_->facts()));
    Highlight(context);
    if (int64_t clicked = pane_.Draw(frame); clicked >= 0) Click(context, clicked);
  }

  bool Run(Command command, Frame& frame) override {
    switch (command) {
      case Command::kFind:
        focus_find_ = true;
        return true;
      case Command::kFindNext:
      case Command::kFindPrevious:
        Find(frame.context, command == Command::kFindPrevious);
        return true;
      case Command::kTextFold:
        pane_.SetFolded(!pane_.folded());
        return true;
      case Command::kTextGoTo:
        focus_find_ = true;
        find_ = ":";
        return true;
      case Command::kFit:
        if (!pane_.highlighted().empty()) pane_.GoTo(*pane_.highlighted().begin());
        return true;
      case Command::kFitAll:
        pane_.GoTo(0);
        return true;
      case Command::kCopy:
        if (pane_.document() == nullptr) return false;
        ImGui::SetClipboardText(std::string(pane_.document()->Line(pane_.caret())).c_str());
        return true;
      default:
        return false;
    }
  }

  std::string State() const override {
    return fmt::format("{} {} {}", file_, pane_.folded() ? 1 : 0, find_);
  }
  void SetState(std::string_view state) override {
    int32_t file = -1;
    auto [end, error] = std::from_chars(state.data(), state.data() + state.size(), file);
    auto rest = static_cast<size_t>(end - state.data());
    if (error != std::errc() || state.size() < rest + 3) return;
    file_ = file;
    pane_.SetFolded(state[rest + 1] == '1');
    find_ = state.substr(rest + 3);
    pane_.SetMarked(find_);
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const TextDocument* document = pane_.document();
    if (format != ExportFormat::kCsv || document == nullptr) return View::Export(format, context);
    constexpr int64_t kMax = 200'000;
    if (document->lines() > kMax) {
      return UnsupportedError(
          fmt::format("too large for a table ({})", CountedText(document->lines(), "line")),
          "the text is already a file: " + document->path());
    }
    std::string out = "line,is_highlighted,text\n";
    for (int64_t i = 0; i < document->lines(); ++i) {
      out += fmt::format("{},{},{}\n", i + 1, pane_.highlighted().contains(i) ? 1 : 0,
                         CsvCell(document->Line(i)));
    }
    return out;
  }

  std::string HighlightedItems(Context& /*context*/) const override {
    std::string out;
    for (int64_t line : pane_.highlighted())
      out += fmt::format("{}: {}\n", line + 1, pane_.document()->Line(line));
    return out;
  }

 private:
  void Forget(Context& context) {
    generation_ = context.document.generation();
    file_ = -1;
    pane_.Show(nullptr);
    followed_ = 0;
  }

  // Of HLO, for the device of the module.
  static TextPane::Words WordsOf(Context& context, const TextDocument& document) {
    if (document.kind() != dump::FileKind::kHloText) return {};
    const auto modules = context.document.dump()->modules();
    const auto module = static_cast<size_t>(context.navigation.module());
    std::string device = module < modules.size() ? modules[module].device : "";
    return [device = std::move(device)](std::string_view line, size_t at) {
      return HoverWords(line, at, device);
    };
  }

  // Of the instruction that a line defines.
  void FindHeat(Frame& frame) {
    Context& context = frame.context;
    heat_ = nullptr;
    pane_.SetHeat({});
    const int32_t stage = ShownStage(context);
    const int32_t module =
        file_ < 0 ? context.navigation.module()
                  : context.document.dump()->files()[static_cast<size_t>(file_)].module;
    if (stage < 0 || module < 0) return;
    const Pending<hlo::Module>& read = context.data.Module(module, stage);
    if (!read.ready()) return;
    heat_ = stage_heat_.Find(context, module, stage, read.value);
    if (heat_ == nullptr) return;
    const Pending<dump::InstructionLookup>& names =
        context.cache.Get(PartKey<dump::InstructionLookup>{module, stage}, "finding names",
                          [text = read.value](TaskControl&) {
                            return Result<std::shared_ptr<const dump::InstructionLookup>>(
                                std::make_shared<const dump::InstructionLookup>(text));
                          });
    if (!names.ready()) return;
    const auto id_at = [names = names.value, document = pane_.document_ptr()](int64_t line) {
      return names->ByName(NameOnLine(document->Line(line), document->kind()));
    };
    pane_.SetHeat(
        {[id_at, heat = heat_, theme = &frame.theme](int64_t line) {
           return HeatFill(*theme, *heat, id_at(line));
         },
         [id_at, heat = heat_](int64_t line) { return HeatSentence(*heat, id_at(line)); }});
  }

  // A line that was selected elsewhere opens its file; anything else brings the stage back.
  void Follow(Context& context) {
    if (followed_ == context.navigation.version()) return;
    followed_ = context.navigation.version();
    const Selection& now = context.navigation.selection();
    revealed_ = false;
    if (now.kind == SelectionKind::kTextLine) {
      file_ = now.file;
      wanted_line_ = now.line - 1;
    } else if (now.stage >= 0 && (now.kind == SelectionKind::kStage || !IsCode(context, file_))) {
      file_ = -1;
    }
  }
  static bool IsCode(Context& context, int32_t file) {
    auto files = context.document.dump()->files();
    return file >= 0 && static_cast<size_t>(file) < files.size() &&
           files[static_cast<size_t>(file)].kind != dump::FileKind::kHloText;
  }

  const Pending<TextDocument>* Document(Context& context) {
    const dump::DumpModel& dump = *context.document.dump();
    int32_t module = context.navigation.module(), stage = context.navigation.stage();
    if (file_ >= 0 && static_cast<size_t>(file_) < dump.files().size()) {
      key_ = {.file = file_};
      return &TextOfFile(context, file_);
    }
    if (module < 0 || stage < 0) return nullptr;
    key_ = {.module = module, .stage = stage};
    return &context.cache.Get(
        key_, "loading the text",
        [dump = context.document.dump().value, module, stage](TaskControl& control) {
          return StageText(*dump, module, stage, control.stop());
        });
  }

  // The stage that the text shows, -1 if it is not a module.
  int32_t ShownStage(Context& context) const {
    if (file_ < 0) return context.navigation.stage();
    const dump::FileEntry& entry = context.document.dump()->files()[static_cast<size_t>(file_)];
    return entry.kind == dump::FileKind::kHloText ? entry.stage : -1;
  }

  // Finding where an instruction is defined may take a moment in a file of many megabytes.
  void Highlight(Context& context) {
    const Counterparts& found = context.navigation.counterparts();
    int32_t stage = ShownStage(context), module = context.navigation.module();
    std::vector<std::string> names;
    if (stage >= 0 && module >= 0) {
      const Pending<hlo::Module>& read = context.data.Module(module, stage);
      auto add = [&](hlo::InstructionId id) {
        if (read.ready() && id.valid() && id.index < read->instructions().size())
          names.emplace_back(read->name(id));
      };
      const Selection& now = context.navigation.selection();
      if (now.stage == stage && now.kind == SelectionKind::kInstruction) add(now.instruction);
      if (now.stage == stage && now.kind == SelectionKind::kComputation && read.ready() &&
          now.computation.index < read->computations().size())
        names.emplace_back((*read)[(*read)[now.computation].name]);
      constexpr size_t kMaxHighlighted = 64;
      for (const StageCounterpart& counterpart : found.stages) {
        if (counterpart.stage == stage && names.size() < kMaxHighlighted)
          add(counterpart.instruction);
      }
    }
    const Pending<HighlightedLines>& lines =
        context.cache.Get(HighlightedLinesKey{key_, names}, "finding lines",
                          [document = pane_.document_ptr(), names](TaskControl&) {
                            auto out = std::make_shared<HighlightedLines>();
                            for (const std::string& name : names) {
                              if (int64_t line = document->FindDefinition(name); line >= 0)
                                out->insert(line);
                            }
                            return Result<std::shared_ptr<const HighlightedLines>>(out);
                          });
    if (!lines.ready()) return;
    HighlightedLines highlighted = *lines;
    constexpr int32_t kMaxRange = 4000;
    for (const TextLines& range : found.lines) {
      for (int32_t line = range.first;
           range.file == file_ && line <= range.last && line < range.first + kMaxRange; ++line)
        highlighted.insert(line - 1);
    }
    if (!revealed_ && (!highlighted.empty() || wanted_line_ >= 0)) {
      revealed_ = context.navigation.counterparts_complete() || !names.empty() || wanted_line_ >= 0;
      pane_.GoTo(wanted_line_ >= 0 ? wanted_line_ : *highlighted.begin());
      wanted_line_ = -1;
    }
    pane_.SetHighlighted(std::move(highlighted));
  }

  void Click(Context& context, int64_t line) {
    int32_t stage = ShownStage(context), module = context.navigation.module();
    if (file_ >= 0) module = context.document.dump()->files()[static_cast<size_t>(file_)].module;
    std::string_view name = NameOnLine(pane_.document()->Line(line), pane_.document()->kind());
    if (stage >= 0 && module >= 0 && !name.empty()) {
      const Pending<hlo::Module>& read = context.data.Module(module, stage);
      for (uint32_t i = 0; read.ready() && i < read->instructions().size(); ++i) {
        if (read->name(hlo::InstructionId(i)) != name) continue;
        int32_t file = file_;
        context.navigation.Select(Selection::OfInstruction(module, stage, hlo::InstructionId(i)));
        file_ = file;
        followed_ = context.navigation.version();
        revealed_ = true;
        return;
      }
    }
    if (file_ >= 0)
      context.navigation.Select(Selection::OfTextLine(file_, static_cast<int32_t>(line + 1)));
  }

  void DrawBar(Frame& frame) {
    Context& context = frame.context;
    const dump::DumpModel& dump = *context.document.dump();
    float find_width = 260 * frame.scale, fold_width = 60 * frame.scale;
    ImGui::SetNextItemWidth(std::max(
        120.0f, ImGui::GetContentRegionAvail().x - find_width - fold_width - 24 * frame.scale));
    std::string shown = "the stage in view";
    if (file_ >= 0)
      shown = dump.files()[static_cast<size_t>(file_)].path;
    else if (int32_t m = context.navigation.module(), s = context.navigation.stage();
             m >= 0 && s >= 0)
      shown = dump.modules()[static_cast<size_t>(m)].stages[static_cast<size_t>(s)].name;
    const std::string fitted =
        FittedText(shown, ImGui::CalcItemWidth() - ImGui::GetFrameHeight() - 12 * frame.scale);
    const bool is_open = ImGui::BeginCombo("##file", fitted.c_str(), ImGuiComboFlags_HeightLarge);
    Help("file: " + shown);
    if (is_open) {
      DrawFiles(context, dump);
      ImGui::EndCombo();
    }
    ImGui::SameLine();
    bool folded = pane_.folded();
    if (ImGui::Button(folded ? "Unfold" : "Fold", ImVec2(fold_width, 0))) pane_.SetFolded(!folded);
    Help(Command::kTextFold);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(-1);
    if (focus_find_) ImGui::SetKeyboardFocusHere();
    focus_find_ = false;
    if (ImGui::InputTextWithHint("##find", "find, or :LINE", &find_,
                                 ImGuiInputTextFlags_EnterReturnsTrue))
      Find(context, ImGui::GetIO().KeyShift);
    Help("find text, or :120 to go to a line; Enter: next, Shift+Enter: previous\nCtrl+F");
    if (ImGui::IsItemEdited()) pane_.SetMarked(find_.starts_with(':') ? "" : find_);
    if (!message_.empty()) Label(frame.theme, Color::kWarning, message_);
  }

  void DrawFiles(Context& context, const dump::DumpModel& dump) {
    if (ImGui::Selectable("the stage in view", file_ < 0)) file_ = -1;
    int32_t module = context.navigation.module();
    for (size_t i = 0; i < dump.files().size(); ++i) {
      const dump::FileEntry& file = dump.files()[i];
      bool binary = file.kind == dump::FileKind::kObject || file.kind == dump::FileKind::kZip ||
                    file.kind == dump::FileKind::kHloProto || file.kind == dump::FileKind::kNpy ||
                    file.kind == dump::FileKind::kMlirBytecode ||
                    file.kind == dump::FileKind::kJaxExport ||
                    file.kind == dump::FileKind::kUnknown;
      if (binary || (file.module >= 0 && file.module != module)) continue;
      if (Choice(fmt::format("{}   {}", file.path, BytesText(file.bytes)), fmt::to_string(i),
                 file_ == static_cast<int32_t>(i)))
        file_ = static_cast<int32_t>(i);
    }
  }

  void Find(Context& context, bool up) {
    message_.clear();
    if (pane_.document() == nullptr || find_.empty()) return;
    if (find_.starts_with(':')) {
      int64_t line = 0;
      auto parsed = std::from_chars(find_.data() + 1, find_.data() + find_.size(), line);
      if (parsed.ec == std::errc()) pane_.GoTo(line - 1);
      return;
    }
    pane_.SetMarked(find_);
    context.tasks.Start(
        "finding " + find_,
        [this, document = pane_.document_ptr(), what = find_, up,
         from = pane_.caret() + (up ? -1 : 1)](TaskControl& control) -> Tasks::Finish {
          int64_t start = from < 0 ? document->lines() - 1 : from >= document->lines() ? 0 : from;
          int64_t line = document->FindText(what, start, up, control.stop());
          return [this, line, what] {
            if (line >= 0)
              pane_.GoTo(line);
            else
              message_ = fmt::format("{}: no match", SafeText(what, 60));
          };
        });
  }

  uint64_t generation_ = 0, followed_ = 0;
  int32_t file_ = -1;  // -1: the stage in view
  int64_t wanted_line_ = -1;
  bool revealed_ = false, focus_find_ = false;
  TextKey key_;
  std::string find_, message_;
  TextPane pane_;
  StageHeat stage_heat_;
  std::shared_ptr<const HeatPaint> heat_;  // null: off
};

}  // namespace

std::unique_ptr<View> MakeTextView() { return std::make_unique<TextView>(); }

}  // namespace hloscope::viewer
