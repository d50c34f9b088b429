// A page of a graph: picture and texts, linked to one another, without scripts.
#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/text.h"
#include "core/graph/looks.h"
#include "core/graph/svg.h"
#include "core/hlo/text/text.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;

// Beyond so many lines a page is no help: the texts of larger selections stay in the module.
constexpr size_t kMaxLines = 20000;
constexpr std::string_view kPageStyle =
    "body{font-family:Inter,'Helvetica "
    "Neue',Arial,sans-serif;margin:0;color:#1a1f26;background:#fff}"
    "header,main{padding:12px 24px}h1{font-size:20px;margin:8px 0}p{margin:4px 0;color:#566271}"
    ".picture{overflow:auto;max-height:85vh;border-top:1px solid #d0d7e0;border-bottom:1px solid "
    "#d0d7e0}.picture svg{display:block}details{margin:6px 0;border:1px solid "
    "#d0d7e0;border-radius:4px}summary{padding:6px "
    "10px;cursor:pointer;background:#f6f7f9;font-weight:"
    "600}ul{margin:0;padding:6px 10px}li{list-style:none;margin:1px 0}code{font-family:'JetBrains "
    "Mono','DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:12px;padding-left:8px;white-space:"
    "pre-wrap;overflow-wrap:anywhere}a{color:#1566d1;text-decoration:none;font-size:11px}"
    ".root code{font-weight:bold}:target{background:#fff3c4}";

class Page {
 public:
  Page(FoldableGraph& graph, const SvgOptions& options, std::span<const InstructionId> shown)
      : graph_(graph), module_(graph.tree().module()), options_(options), shown_(shown) {}

  std::string Run() {
    SvgOptions inside = options_;
    inside.link_to_lines = shown_.size() <= kMaxLines;
    const std::string title = EscapeHtml(options_.heading);
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\"><title>{0}</title><style>{1}</style></head>\n<body><header><h1>{0}</h1>"
        "<p>Rest the pointer on a box or a line to read more; click a box for its text below, a "
        "small "
        "blue name to go where an edge leads.</p></header>\n<div class=\"picture\">\n",
        title, kPageStyle);
    out_ += ToSvg(graph_, inside);
    out_ += "</div>\n<main>\n";
    if (shown_.size() > kMaxLines) {
      out_ += fmt::format(
          "<p>The texts of {} are not on this page: show one computation of them "
          "(--computation), or what is around one instruction (--around).</p>\n",
          Counted(shown_.size(), "instruction"));
    } else {
      AddTexts();
    }
    out_ += "</main></body></html>\n";
    return std::move(out_);
  }

 private:
  void AddTexts() {
    selected_.assign(module_.instructions().size(), false);
    for (InstructionId id : shown_) selected_[id.index] = true;
    // The entry, which stands last in a text, is what a reader looks for first.
    AddRuns(true);
    AddRuns(false);
  }

  void AddRuns(bool entry) {
    for (size_t begin = 0; begin < shown_.size();) {
      const hlo::ComputationId computation = module_[shown_[begin]].computation;
      size_t end = begin;
      while (end < shown_.size() && module_[shown_[end]].computation == computation) ++end;
      if ((computation == module_.entry_id()) == entry)
        AddComputation(computation, shown_.subspan(begin, end - begin), entry);
      begin = end;
    }
  }

  void AddComputation(hlo::ComputationId id, std::span<const InstructionId> lines, bool entry) {
    out_ += fmt::format("<details{} id=\"c{}\"><summary>{}{} · {}</summary>\n<ul>\n",
                        entry || lines.size() == shown_.size() ? " open" : "", id.index,
                        EscapeHtml(module_[module_[id].name]), entry ? " (entry)" : "",
                        Counted(lines.size(), "instruction"));
    for (InstructionId line : lines) AddLine(line);
    out_ += "</ul></details>\n";
  }

  void AddLine(InstructionId id) {
    const hlo::Instruction& i = module_[id];
    const bool root = module_[i.computation].root == id;
    out_ +=
        fmt::format("<li id=\"i{}\"{}><code style=\"border-left:4px solid #{:06x}\">{}{}</code>",
                    id.index, root ? " class=\"root\"" : "", ColorOf(RoleOf(i.opcode)),
                    root ? "ROOT " : "", EscapeHtml(printer_.Text(id)));
    NodeId node = graph_.tree().Find(id);
    if (node.valid() && graph_.picture().Find(node) != nullptr)
      out_ += fmt::format(" <a href=\"#n{}\">picture</a>", node.index);
    for (InstructionId operand : module_.operands(i)) {
      if (!selected_[operand.index]) continue;
      out_ +=
          fmt::format(" <a href=\"#i{}\">{}</a>", operand.index, EscapeHtml(module_.name(operand)));
    }
    for (hlo::ComputationId called : module_.CalledComputations(i)) {
      out_ += fmt::format(" <a href=\"#c{}\">{}</a>", called.index,
                          EscapeHtml(module_[module_[called].name]));
    }
    out_ += "</li>\n";
  }

  FoldableGraph& graph_;
  const hlo::Module& module_;
  const SvgOptions& options_;
  std::span<const InstructionId> shown_;
  hlo::InstructionPrinter printer_{module_, hlo::TextFormat::kElided};
  std::vector<bool> selected_;
  std::string out_;
};

}  // namespace

std::string ToHtml(FoldableGraph& graph, const SvgOptions& options,
                   std::span<const InstructionId> shown) {
  return Page(graph, options, shown).Run();
}

}  // namespace hloscope::graph
