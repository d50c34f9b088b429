// Reports as HTML and Markdown.
#include "core/debug/bundle/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/escape.h"

namespace hloscope::debug {
namespace {

constexpr std::string_view kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.4rem;margin-bottom:.3rem}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}\n"
    ".lead{font-size:1.1rem;border-left:.3rem solid #b45309;padding:.4rem .8rem;margin:.6rem 0}\n"
    "table{border-collapse:collapse;margin:.4rem 0}td,th{border:1px solid #8886;padding:.2rem "
    ".6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}\n"
    "pre{background:#8881;padding:.6rem;overflow-x:auto;font:13px/1.4 monospace}\n"
    "</style>\n";

void AppendHtmlTable(std::string& out, const ReportSection& section) {
  out += "<table>\n";
  if (!section.head.empty()) {
    out += "<tr>";
    for (const std::string& cell : section.head) out += "<th>" + EscapeHtml(cell) + "</th>";
    out += "</tr>\n";
  }
  for (const auto& row : section.rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += "<td>" + EscapeHtml(cell) + "</td>";
    out += "</tr>\n";
  }
  out += "</table>\n";
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + EscapeMarkdown(cell) + " |";
  return out + "\n";
}

// A fence longer than any run of backquotes inside.
std::string FenceFor(std::string_view code) {
  size_t longest = 2, run = 0;
  for (const char c : code) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

void AppendMarkdownCode(std::string& out, const ReportSection& section) {
  constexpr std::ptrdiff_t kFolded = 25;
  const std::string code = EscapeForTerminal(section.code, LineBreaks::kKeep);
  const std::string fence = FenceFor(code);
  const bool fold = std::ranges::count(code, '\n') > kFolded;
  if (fold) out += "<details><summary>" + EscapeHtml(section.heading) + "</summary>\n\n";
  out += fence + section.code_language + "\n" + code;
  if (!code.ends_with('\n')) out += '\n';
  out += fence + "\n";
  if (fold) out += "\n</details>\n";
  out += "\n";
}

}  // namespace

std::string ToHtml(const ReportDocument& document) {
  std::string out(kHead);
  out += "<title>" + EscapeHtml(document.title) + "</title>\n</head>\n<body>\n";
  out += "<h1>" + EscapeHtml(document.title) + "</h1>\n";
  out += "<p class=\"lead\">" + EscapeHtml(document.lead) + "</p>\n";
  for (const ReportSection& section : document.sections) {
    out += "<h2>" + EscapeHtml(section.heading) + "</h2>\n";
    for (const std::string& text : section.paragraphs) out += "<p>" + EscapeHtml(text) + "</p>\n";
    if (!section.rows.empty()) AppendHtmlTable(out, section);
    if (!section.code.empty()) out += "<pre>" + EscapeHtml(section.code) + "</pre>\n";
  }
  return out + "</body>\n</html>\n";
}

std::string ToMarkdown(const ReportDocument& document) {
  std::string out = "# " + EscapeMarkdown(document.title) + "\n\n";
  out += "**" + EscapeMarkdown(document.lead) + "**\n\n";
  for (const ReportSection& section : document.sections) {
    out += "## " + EscapeMarkdown(section.heading) + "\n\n";
    for (const std::string& text : section.paragraphs) out += EscapeMarkdown(text) + "\n\n";
    if (!section.rows.empty()) {
      const size_t columns = section.rows.front().size();
      out += MarkdownRow(section.head.empty() ? std::vector<std::string>(columns) : section.head);
      out += "|";
      for (size_t k = 0; k < columns; ++k) out += " --- |";
      out += "\n";
      for (const auto& row : section.rows) out += MarkdownRow(row);
      out += "\n";
    }
    if (!section.code.empty()) AppendMarkdownCode(out, section);
  }
  return out;
}

}  // namespace hloscope::debug
