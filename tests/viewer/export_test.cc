// Export of every view by its commands: the path that is asked for, what stands in the file, and
// the sentence where it cannot be written.
#include <imgui.h>
#include <imgui_te_context.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>

#include "core/base/file.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

// The cells of a CSV text; a quoted cell may hold commas, and quotes twice.
std::vector<std::vector<std::string>> CellsOf(std::string_view text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[i++];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      rows.back().emplace_back();
    } else if (c == '\n' && !is_quoted) {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  EXPECT_FALSE(is_quoted) << "a quote is left open";
  rows.pop_back();  // behind the last line break
  return rows;
}

// What is wrong with an XML text as far as tags, quotes and references go; empty: nothing.
std::string XmlFault(std::string_view text) {
  std::vector<std::string> open;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '&' && text.find(';', i) > i + 8) return "a bare &";
    if (static_cast<uint8_t>(text[i]) < 32 && text[i] != '\n' && text[i] != '\t')
      return "a control character";
    if (text[i] != '<') {
      ++i;
      continue;
    }
    size_t end = i + 1;
    char quote = 0;
    for (; end < text.size() && (quote != 0 || text[end] != '>'); ++end) {
      if (quote != 0 ? text[end] == quote : text[end] == '"' || text[end] == '\'')
        quote = quote != 0 ? '\0' : text[end];
      if (quote != 0 && text[end] == '<') return "a < in an attribute";
    }
    if (end >= text.size()) return "a tag is not closed";
    const std::string_view tag = text.substr(i + 1, end - i - 1);
    const std::string name(tag.substr(0, tag.find_first_of(" /\n")));
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "closes " + std::string(tag);
      open.pop_back();
    } else if (!tag.ends_with('/') && !tag.starts_with('?') && !tag.starts_with('!')) {
      open.push_back(name);
    }
    i = end + 1;
  }
  return open.empty() ? "" : open.back() + " is left open";
}

uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// The pixels of a PNG that ToPng wrote: width, height, and how many different bytes they are of.
struct PngFacts {
  uint32_t width = 0, height = 0;
  size_t different = 0;
};
PngFacts FactsOf(const std::string& png) {
  PngFacts facts;
  if (!png.starts_with("\x89PNG\r\n\x1a\n") || png.size() < 45) return facts;
  facts.width = BigEndian(png, 16);
  facts.height = BigEndian(png, 20);
  std::string packed;
  for (size_t at = 8; at + 12 <= png.size(); at += 12 + BigEndian(png, at)) {
    if (png.compare(at + 4, 4, "IDAT") == 0) packed += png.substr(at + 8, BigEndian(png, at));
  }
  std::string pixels((size_t{facts.width} * 3 + 1) * facts.height, '\0');
  uLongf size = pixels.size();
  if (uncompress(reinterpret_cast<Bytef*>(pixels.data()), &size,
                 reinterpret_cast<const Bytef*>(packed.data()), packed.size()) != Z_OK ||
      size != pixels.size())
    return {};
  std::ranges::sort(pixels);
  pixels.erase(std::ranges::unique(pixels).begin(), pixels.end());
  facts.different = pixels.size();
  return facts;
}

struct ExportCase {
  const char *view, *screen, *sample, *select;
  const char* header;  // how the CSV begins
  const char* cell;    // stands in one of its rows
};
constexpr const char *kGpu = "attention_block_h100", *kPasses = "softmax_passes_a100",
                     *kCpu = "conv_net", *kFusion = "jit_attention_block:gemm_fusion_dot.3",
                     *kConvolution = "jit_conv_net:conv_general_dilated.3";
constexpr ExportCase kCases[] = {
    {"home", "home", kGpu, kFusion, "module,id,framework", "jit_attention_block"},
    {"modules", "kernels", kGpu, kFusion, "module,id,stage", "before_optimizations"},
    {"graph", "graph", kGpu, kFusion, "node,opcode,place,kernel,lane", "gemm_fusion_dot.3"},
    {"selection", "home", kGpu, kFusion, "what,where,name", "gemm_fusion_dot_3"},
    {"notes", "home", kGpu, kFusion, "title,note", "a, \"quoted\" note"},
    {"passes", "passes", kPasses, "jit_softmax:triton_softmax.2", "stage,pipeline,pass,added",
     "priority-fusion"},
    {"changes", "passes", kPasses, "jit_softmax@0034.fusion.after_priority-fusion.before_cse",
     "change,before,after", "triton_softmax"},
    {"before-after", "passes", kPasses, "jit_softmax@0034.fusion.after_priority-fusion.before_cse",
     "change,before,after,x,y", "triton_softmax"},
    {"text", "passes", kPasses, "jit_softmax:triton_softmax.2", "line,is_highlighted,text", ""},
    {"two-dumps", "passes", "attention_block", "", "module,result,instructions", "60748"},
    {"timeline", "kernels", kCpu, kConvolution, "lane,row,event,start_ps,duration_ps",
     "conv_general_dilated.3"},
    {"kernels", "kernels", kCpu, kConvolution, "instruction,opcode,self", "conv_general_dilated.3"},
    {"roofline", "kernels", kCpu, kConvolution, "instruction,flop_per_byte",
     "conv_general_dilated.3"},
    {"statistics", "kernels", kCpu, kConvolution, "event,inside_ps,count",
     "conv_general_dilated.3"},
    {"code", "kernels", kGpu, kFusion, "file,line,text", ""},
    {"thread", "kernels", kPasses, "jit_softmax:triton_softmax.2", "step,line,text,values",
     "bar.sync 0"},
    {"memory", "memory", kGpu, kFusion, "point,instruction,live_bytes", "gemm_fusion_dot.3"},
    {"buffers", "memory", kGpu, kFusion, "bytes,instruction,shape", "qkv.1"},
    {"what-if", "memory", kGpu, kFusion, "instruction,bytes,change,peak_bytes,why_not",
     "it is not an argument"},
    {"peak-scopes", "memory", kGpu, kFusion, "scope,bytes,share", "qkv"},
    {"source", "graph", kGpu, kFusion, "file,line,instructions,kernels,value", "make_samples.py"},
    {"divergence", "divergence", "mlp_train_step", "", "instruction,verdict", ""},
    {"values", "divergence", "mlp_train_step", "", "index,", ""},
    {"pinned", "divergence", "mlp_train_step", "", "instruction,computation,module", "interpreter"},
    {"verdict", "divergence", "mlp_train_step", "", "kind,what,closes,detail", ""},
    {"curve", "divergence", "mlp_train_step", "", "instruction,computation,opcode", ""},
    {"reducer", "divergence", "mlp_train_step", "", "kind,tries,instructions,text",
     "does not fail"},
};

class ExportTest : public ViewerTest {
 protected:
  void Show(const ExportCase& c) {
    Start({});
    ShowPictures();
    app().SelectWhenOpen(c.select);
    app().Open({Sample(c.sample)});
    app().dock().SetScreen(c.screen);
    Settle();
    session().bookmarks.push_back({.title = "here",
                                   .note = "a, \"quoted\" note",
                                   .selection = session().navigation.selection()});
    if (std::string_view(c.screen) == "divergence") RunAndTakeValues();
    if (std::string_view(c.view) == "two-dumps") session().second.Open(Sample(kGpu));
    if (std::string_view(c.view) == "verdict") SearchPass(session(), 0, 0);
    if (std::string_view(c.view) == "reducer") app().Run(Command::kReduce);
    Settle();
    session().requests.Show(c.view);
    Settle();
    ASSERT_EQ(app().dock().focused_view(), c.view);
    if (std::string_view(c.view) != "thread") return;
    app().Run(Command::kTraceThread);
    ASSERT_TRUE(DrawUntil([&] { return !HighlightedItems("thread").empty(); })) << Messages();
  }
  void RunAndTakeValues() {
    app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
    Press("F9");
    session().navigation.Select(
        Selection::OfInstruction(0, 0, session().experiment.module()->entry().root));
    Settle();
    app().Run(Command::kValues);
    Settle();
    app().Run(Command::kPin);
    Settle();
  }
  // By the palette; the path is that which is asked for, in another folder.
  std::string Export(std::string_view kind, const std::string& path) {
    Press("Ctrl+Shift+P");
    Type("Export as " + std::string(kind));
    Press("Enter");
    if (app().popups().kind() != Popups::Kind::kExport)
      return session().messages.all().empty() ? "nothing was asked"
                                              : session().messages.all().back().text;
    Type(path);
    Press("Enter");
    return session().messages.all().empty() ? "nothing was said"
                                            : session().messages.all().back().text;
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {(std::istreambuf_iterator<char>(file)), {}};
  }
};

TEST_F(ExportTest, EveryViewAsTableAndVectors) {
  for (const ViewRow& row : ViewRows())
    EXPECT_TRUE(std::ranges::any_of(kCases, [&](const ExportCase& c) { return row.id == c.view; }))
        << row.id << ": no case for it in export_test.cc";
  for (const ExportCase& c : kCases) {
    SCOPED_TRACE(c.view);
    Show(c);
    const std::string table = Scratch(std::string(c.view) + ".csv");
    EXPECT_EQ(Export("CSV", table), "saved " + table);
    const auto rows = CellsOf(Read(table));
    // Nothing differs from itself: a curve without points.
    ASSERT_GE(rows.size(), std::string_view(c.view) == "curve" ? 1u : 2u) << Read(table);
    EXPECT_TRUE(Read(table).starts_with(c.header)) << Read(table).substr(0, 200);
    bool has_cell = std::string_view(c.cell).empty();
    for (const std::vector<std::string>& cells : rows) {
      ASSERT_EQ(cells.size(), rows[0].size()) << cells[0];
      for (const std::string& cell : cells) has_cell |= cell.find(c.cell) != std::string::npos;
    }
    EXPECT_TRUE(has_cell) << c.cell << " is not in\n" << Read(table).substr(0, 2000);
    const std::string vectors = Scratch(std::string(c.view) + ".svg");
    session().requests.Show(c.view);
    Settle();
    EXPECT_EQ(Export("SVG", vectors), "saved " + vectors);
    const std::string svg = Read(vectors);
    EXPECT_TRUE(svg.starts_with("<svg") && svg.find("</text>") != std::string::npos)
        << svg.substr(0, 200);
    EXPECT_EQ(XmlFault(svg), "");
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    Stop();
  }
}

TEST_F(ExportTest, APictureIsOfTheViewWithoutThePopup) {
  surface_ = {.kind = SurfaceKind::kHeadless, .width = 900, .height = 600, .scale = 1};
  Show(kCases[0]);
  const std::string path = Scratch("home.png");
  EXPECT_EQ(Export("PNG", path), "saved " + path);
  const PngFacts facts = FactsOf(Read(path));
  const Dock::Panel* home = app().dock().Find("home");
  EXPECT_EQ(facts.width, static_cast<uint32_t>(home->width));
  EXPECT_NEAR(facts.height, home->height, 1);
  EXPECT_GT(facts.different, 40u);
}

TEST_F(ExportTest, AnUnwritablePlaceIsASentenceThatNamesIt) {
  Show(kCases[0]);
  for (const std::string& path :
       {Scratch("no") + "/such/folder.csv", std::string("/proc/x.csv"), Scratch("")}) {
    const std::string said = Export("CSV", path);
    EXPECT_TRUE(said.starts_with("not saved: ")) << said;
    EXPECT_EQ(session().messages.all().back().severity, Severity::kError);
    session().messages.Clear();
    session().requests.Show("home");
    Settle();
  }
}

TEST_F(ExportTest, APathIsOfferedAndEscapeWritesNothing) {
  Show(kCases[0]);
  Press("Ctrl+E");
  ASSERT_EQ(app().popups().kind(), Popups::Kind::kExport);
  const std::string offered = app().popups().text();
  EXPECT_TRUE(offered.ends_with("/hloscope-home.csv")) << offered;
  EXPECT_TRUE(std::filesystem::path(offered).is_absolute());
  Press("Escape");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kNone);
  EXPECT_FALSE(std::filesystem::exists(offered));
  EXPECT_TRUE(session().messages.all().empty());
}

TEST_F(ExportTest, HostileNamesStayInTheirCells) {
  std::filesystem::create_directories(Scratch("dump"));
  std::ofstream(Scratch("dump") + "/module_0001.a\"b,c\x1b[2J.before_optimizations.txt")
      << "HloModule m\nENTRY e {\n  ROOT %a\"\xff = f32[2] constant({1,2})\n}\n";
  Start({Scratch("dump")});
  ASSERT_TRUE(session().document.dump().ready());
  const std::string path = Scratch("home.csv");
  EXPECT_EQ(Export("CSV", path), "saved " + path);
  const auto rows = CellsOf(Read(path));
  ASSERT_EQ(rows.size(), 2u) << Read(path);
  EXPECT_EQ(rows[0].size(), rows[1].size());
  EXPECT_EQ(Read(path).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace hloscope::viewer
