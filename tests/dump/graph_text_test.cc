// GraphDefs in every form of protobuf's text format, held to what protobuf itself reads; damaged
// ones, which name what they lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/dump/listing/sniff.h"
#include "core/dump/readers/text_proto_scanner.h"
#include "core/dump/tensorflow/graph_losses.h"
#include "core/dump/tensorflow/tensorflow_graph.h"
#include "tests/base/paths.h"
#include "tests/dump/graph_def_oracle.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Graphs() {
  std::vector<fs::path> paths;
  for (const char* folder : {"tests/dump/tensorflow", "tests/dump/tensorflow_runs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(SourcePath(folder))) {
      if (entry.path().extension() == ".pbtxt") paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  std::vector<std::string> graphs;
  for (const fs::path& path : paths) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    graphs.push_back(text.str());
  }
  return graphs;
}

// ---- other layouts of the same graph

struct Field {
  std::string name, value;  // of a message no value
  std::vector<Field> fields;
};

// As TensorFlow prints: a field or brace a line.
std::vector<Field> FieldsOf(std::istringstream& lines) {
  std::vector<Field> fields;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line == "}") break;
    if (line.ends_with(" {")) {
      fields.push_back({line.substr(0, line.size() - 2), {}, FieldsOf(lines)});
    } else if (const size_t colon = line.find(": "); colon != std::string::npos) {
      fields.push_back({line.substr(0, colon), line.substr(colon + 2), {}});
    }
  }
  return fields;
}

class Layout {
 public:
  explicit Layout(uint32_t seed) : random_(seed) {}

  std::string Write(const std::vector<Field>& fields) {
    std::string out;
    for (size_t k = 0; k < fields.size();) {
      size_t end = k + 1;
      while (end < fields.size() && fields[end].name == fields[k].name) ++end;
      const bool is_list = end - k > 1 && Pick(2) == 0;
      if (is_list) {
        const bool has_colon = fields[k].fields.empty() || Pick(2) == 0;
        out += fields[k].name + Space() + (has_colon ? ":" : "") + Space() + "[";
        for (; k < end; ++k)
          out += Space() + Value(fields[k]) + Space() + (k + 1 < end ? "," : "]");
      } else {
        const bool is_message = !fields[k].fields.empty() || fields[k].value.empty();
        out += fields[k].name + Space() + (!is_message || Pick(2) == 0 ? ":" : "") + Space();
        out += Value(fields[k++]);
      }
      out += Space() + Separator();
    }
    return out;
  }

 private:
  uint32_t Pick(size_t most) { return static_cast<uint32_t>(random_() % most); }
  std::string Space() {
    const char* const kSpaces[] = {"", " ", "\n", "\t", " # a } comment: \"\n", "\r\n  ", ""};
    return kSpaces[Pick(std::size(kSpaces))];
  }
  std::string Separator() {
    const char* const kSeparators[] = {" ", "\n", ",", ";", " ; ", "#\n"};
    return kSeparators[Pick(std::size(kSeparators))];
  }
  std::string Value(const Field& field) {
    if (field.value.empty() || !field.fields.empty()) {
      const bool is_braced = Pick(2) == 0;
      return (is_braced ? "{" : "<") + Space() + Write(field.fields) + (is_braced ? "}" : ">");
    }
    const std::string& value = field.value;
    if (value.starts_with('"')) return String(value);
    if (value == "true") return std::array{"true", "True", "t", "1"}[Pick(4)];
    if (value == "false") return std::array{"false", "False", "f", "0"}[Pick(4)];
    if (field.name == "size" || field.name == "i") {
      const int64_t number = std::stoll(value);
      const char* const sign = number < 0 ? "- " : "";
      const uint64_t size = number < 0 ? 0 - static_cast<uint64_t>(number) : number;
      switch (Pick(3)) {
        case 0:
          return fmt::format("{}{:#x}", sign, size);
        case 1:
          return size == 0 ? "0" : fmt::format("{}0{:o}", sign, size);
        default:
          break;
      }
    }
    if (value == "DT_FLOAT" && Pick(2) == 0) return "1";
    return value;
  }
  // The same bytes in up to three strings, some of them as escapes.
  std::string String(const std::string& quoted) {
    std::string bytes;
    EXPECT_TRUE(AppendTextProtoString(quoted, bytes));
    std::string out;
    for (size_t at = 0, parts = 0; parts == 0 || at < bytes.size(); ++parts) {
      const char quote = Pick(2) == 0 ? '"' : '\'';
      const size_t end = parts == 2 ? bytes.size() : at + Pick(12);
      out += quote;
      for (; at < std::min(end, bytes.size()); ++at) out += Character(bytes, at, quote);
      out += quote + Space();
    }
    return out;
  }
  std::string Character(const std::string& bytes, size_t at, char quote) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    const bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '\\' && byte != quote;
    switch (Pick(is_plain ? 24 : 3)) {
      case 0:
        return fmt::format("\\x{:02x}", byte);
      case 1:
        return byte < 0x80 ? fmt::format("\\u{:04X}", byte) : fmt::format("\\{:03o}", byte);
      case 2:
        return fmt::format("\\{:03o}", byte);
      default:
        return std::string(1, bytes[at]);
    }
  }

  std::mt19937 random_;
};

// What protobuf reads in each layout is the graph that TensorFlow printed, and what is read here is
// that too, without a warning.
TEST(GraphTextTest, AnyLayoutIsTheSameGraph) {
  const GraphDefOracle oracle;
  uint32_t seed = 0;
  int64_t layouts = 0;
  for (const std::string& text : Graphs()) {
    auto graph = ReadTensorFlowGraph(text, Limits{});
    ASSERT_TRUE(graph) << graph.error().ToString();
    EXPECT_TRUE(graph->warnings.empty()) << graph->warnings[0].ToString();
    const std::optional<std::string> wire = oracle.ToWire(text);
    ASSERT_TRUE(wire) << oracle.WhyNot(text);
    EXPECT_EQ(FactsText(*graph), FactsText(*ReadTensorFlowGraph(*wire, Limits{})));
    std::istringstream lines(text);
    const std::vector<Field> fields = FieldsOf(lines);
    for (int k = 0; k < 4; ++k, ++layouts) {
      const std::string other = Layout(seed++).Write(fields);
      ASSERT_EQ(oracle.ToWire(other), wire) << oracle.WhyNot(other);
      auto read = ReadTensorFlowGraph(other, Limits{});
      ASSERT_TRUE(read) << read.error().ToString();
      ASSERT_TRUE(read->warnings.empty()) << read->warnings[0].ToString() << "\n" << other;
      ASSERT_EQ(FactsText(*read), FactsText(*graph)) << other;
    }
  }
  EXPECT_GT(layouts, 150);
}

TEST(GraphTextTest, FormsOfFieldsAreRead) {
  const GraphDefOracle oracle;
  struct Row {
    std::string_view text, facts;
  };
  const Row rows[] = {
      {R"(node { name: "a" op: "Relu" attr { key: "T" value { type: DT_FLOAT } } } versions {})",
       "(Relu) on  of , , ; , T 1;"},
      {R"(node < op: 'Re' "lu" name: "a", attr: < value: < type: 1 > key: "T" >; > versions <>)",
       "a (Relu) on  of , , ; , T 1;"},
      {R"(node: [ { name: "a" op: "Relu" }, < name: "b" op: "Abs" input: ["a", '\x61:0'] > ] versions {})",
       "b (Abs) on  of , , ; a a:0; calls"},
      // protobuf does not print a size of 0.
      {"node {\n name: \"a\"\n op: \"Relu\"\n attr {\n key: \"_output_shapes\"\n value {\n list "
       "{\n "
       "shape {\n dim {\n }\n dim {\n size: 0x10\n }\n }\n shape { unknown_rank: true } }\n }\n "
       "}\n}\n"
       "versions {\n}\n",
       "shapes [0,16] ?;"},
      // Attributes of a function that is called are not the node's.
      {R"(node { name: "a" op: "If" attr { key: "f" value { func { name: "g" attr { key: "T" value
          { type: DT_HALF } } attr { key: "h" value { list { func { name: "i" } } } } } } } } versions {})",
       "a (If) on  of , , ; ; calls g i; shapes;"},
  };
  for (const Row& row : rows) {
    const std::optional<std::string> wire = oracle.ToWire(row.text);
    ASSERT_TRUE(wire) << row.text << oracle.WhyNot(row.text);
    auto graph = ReadTensorFlowGraph(row.text, Limits{});
    ASSERT_TRUE(graph) << graph.error().ToString();
    EXPECT_TRUE(graph->warnings.empty()) << graph->warnings[0].ToString();
    EXPECT_TRUE(FactsText(*graph).contains(row.facts)) << FactsText(*graph);
  }
}

// Each text is refused by protobuf, or has something that TensorFlow's messages have not.
TEST(GraphTextTest, WhatCannotBeReadIsToldWithItsPlace) {
  const GraphDefOracle oracle;
  struct Row {
    std::string_view text, warning;
  };
  const std::string fix = " (correct it, or let TensorFlow write the graph again)";
  const Row rows[] = {
      {"node { name: \"a\" op: }\nversions {}", "1:22: node a: expected a value, got }"},
      {"node { name: \"a\" op \"b\" }\nversions {}", "1:21: node a: expected `:`, got \"b\""},
      {"node {\n name: \"a\n op: \"b\" }\nversions {}",
       "2:8: expected a closing quote on the same line, got \"a"},
      {"node {\n name: \"a\" op: \"\\q\" }\nversions {}",
       "2:16: node a: op: expected escapes of protobuf, got \"\\q\""},
      {"node { name: \"a\" op: \"b\" attr { key: \"T\" value { type: 0x } } }\nversions {}",
       "1:56: node a: expected hexadecimal digits after 0x, got 0x"},
      {"node { name: \"a\" op: \"b\" attr { key: \"T\" value { i: 09 } } }\nversions {}",
       "1:53: node a: expected octal digits after a leading 0, got 09"},
      {"node { name: \"a\" op: \"b\" attr { key: \"T\" value { b: 2 } } }\nversions {}",
       "1:53: node a: b: expected true or false, got 2"},
      {"node { name: \"a\" op: [\"b\", \"c\"] }\nversions {}",
       "1:18: node a: op of NodeDef is one value, not a list"},
      {"node { name: \"a\" op { } }\nversions {}",
       "1:18: node a: op of NodeDef is a value, not a message"},
      {"node { name: \"a\" op: \"b\" attr: 1 }\nversions {}",
       "1:32: node a: attr: expected `{`, got 1"},
      {"node { name: \"a\" op: \"b\" input: [\"a\" \"a\" }\nversions {}",
       "1:42: node a: expected `,` or `]`, got }"},
      {"node [ { name: \"a\" op: \"b\" } { name: \"c\" op: \"d\" } ]\nversions {}",
       "1:30: expected `,` or `]`, got {"},
      {"node { name: \"a\" op: \"b\" ,, }\nversions {}",
       "1:27: node a: expected the name of a field, got ,"},
      {"node { name: \"a\" op: \"b\" [a.b/c]: 1 }\nversions {}",
       "1:26: node a: NodeDef has no extensions (it is left out)"},
      {"node { name: \"a\" op: \"b\" >\nversions {}", "1:26: node a: an unmatched brace"},
      {"node {\n name: \"a\"\n op: \"b\"\nversions {}",
       "4:1: node a: NodeDef is not closed before the next versions"},
      {"node { name: \"a\" op: \"b\" }\nversions {} }", "2:13: an unmatched brace"},
      {"node { name: \"a\" op: \"b\" }\nversions {",
       "2:11: the graph is cut off inside VersionDef"},
      {"node { name: \"a\" op: \"b\" colour: [1, 2] }\nversions {}",
       "1:26: node a: NodeDef has no field colour, expected name, op, input, device, attr, "
       "experimental_debug_info, … (it is left out)"},
      {"node { name: \"a\" op: \"b\" \x01 }\nversions {}",
       "1:26: node a: expected a character of the text format, got \\x01"},
  };
  for (const Row& row : rows) {
    EXPECT_FALSE(oracle.ToWire(row.text)) << row.text;
    auto graph = ReadTensorFlowGraph(row.text, Limits{});
    ASSERT_TRUE(graph) << row.text << graph.error().ToString();
    ASSERT_FALSE(graph->warnings.empty()) << row.text;
    const std::string warning = graph->warnings[0].ToString();
    EXPECT_TRUE(warning == row.warning || warning == std::string(row.warning) + fix) << warning;
  }
}

// A brace that is missing costs one node, not those behind it.
TEST(GraphTextTest, ReadingGoesOnBehindDamage) {
  const std::string text =
      "node {\n  name: \"a\"\n  op: \"Relu\"\n  attr {\n    key: \"T\"\n    value { ?? { type: "
      "DT_FLOAT } }\n  }\n}\nnode {\n  name: \"b\"\n  op: \"Abs\"\nnode {\n  name: \"c\"\n  op: "
      "\"Exp\"\n}\nversions {\n}\n";
  auto graph = ReadTensorFlowGraph(text, Limits{});
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->nodes.size(), 3u);
  EXPECT_EQ(graph->nodes[2].op, "Exp");
  EXPECT_EQ(graph->nodes[2].types.size(), 0u);
  ASSERT_EQ(graph->warnings.size(), 2u);
  EXPECT_EQ(graph->warnings[0].place.line, 6u);
  EXPECT_EQ(graph->warnings[1].place.line, 12u);
}

TEST(GraphTextTest, DepthIsLimited) {
  std::string text = "node { name: \"a\" op: \"b\" attr { key: \"f\" value ";
  std::string end;
  for (int k = 0; k < 100'000; ++k) {
    text += "{ func { attr { value ";
    end += "} } }";
  }
  auto graph = ReadTensorFlowGraph(text + "{ }" + end + "} }", Limits{});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "messages are nested more than 100 deep");
  EXPECT_EQ(graph.error().place.line, 1u);
  EXPECT_FALSE(graph.error().hint.empty());
}

// A byte, a token, up to 200 bytes out, up to 200 copied in, the rest cut off; one to four times.
void Damage(std::string& text, std::mt19937& random) {
  constexpr std::string_view kTelling = "{}<>[]:;,#\"'\\0x. \n";
  for (uint32_t k = 0, count = 1 + random() % 4; k < count && !text.empty(); ++k) {
    const size_t at = random() % text.size();
    switch (random() % 6) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = kTelling[random() % kTelling.size()];
        break;
      case 2:
        text.insert(at, 1, kTelling[random() % kTelling.size()]);
        break;
      case 3:
        text.erase(at, random() % 200);
        break;
      case 4:
        text.insert(at, text.substr(random() % text.size(), random() % 200));
        break;
      default:
        if (random() % 4 == 0) text.resize(at);
        break;
    }
  }
}

// What protobuf refuses has a warning or an error here; what it reads is read here as well, and
// nothing else.
TEST(GraphTextTest, DamageIsNeverSilent) {
  const GraphDefOracle oracle;
  const std::vector<std::string> graphs = Graphs();
  const char* more = std::getenv("HLOSCOPE_MUTATIONS");
  const int count = more == nullptr ? 500 : std::atoi(more);
  std::mt19937 random(7);
  int refused = 0, whole = 0;
  for (int k = 0; k < count; ++k) {
    std::string text = graphs[static_cast<size_t>(k) % graphs.size()];
    if (k % 2 == 1) {
      std::istringstream lines(text);
      text = Layout(static_cast<uint32_t>(random())).Write(FieldsOf(lines));
    }
    Damage(text, random);
    auto graph = ReadTensorFlowGraph(text, Limits{});
    const std::optional<std::string> wire = oracle.ToWire(text);
    if (!wire) {
      ++refused;
      // Of full types, which nothing is made of, any name will do.
      if (oracle.WhyNot(text).contains("field \"type_id\"")) continue;
      EXPECT_TRUE(!graph || !graph->warnings.empty())
          << "mutant " << k << ", protobuf says " << oracle.WhyNot(text);
      continue;
    }
    if (!graph) {
      EXPECT_FALSE(graph.error().message.empty());
      continue;
    }
    ++whole;
    // protobuf lets pass what is no text of its messages' kinds; then there is a warning.
    if (!graph->warnings.empty()) continue;
    // Nothing tells a GraphDef whose first node has no plain name in wire format.
    if (Sniff(*wire, true) != FileKind::kTensorFlowGraphProto) continue;
    auto truth = ReadTensorFlowGraph(*wire, Limits{});
    ASSERT_TRUE(truth) << "mutant " << k;
    EXPECT_EQ(FactsText(*graph), FactsText(*truth)) << "mutant " << k;
  }
  std::printf("%d mutants: protobuf refuses %d, reads %d\n", count, refused, whole);
  EXPECT_GT(refused, count / 4);
  EXPECT_GT(whole, count / 20);
}

}  // namespace
}  // namespace hloscope::dump
