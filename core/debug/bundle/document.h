// ReportDocument: a short report in sections, rendered as an HTML page and as Markdown. Everything
// in it is plain text: the renderers escape it.
#pragma once

#include <string>
#include <vector>

namespace hloscope::debug {

struct ReportSection {
  std::string heading;
  std::vector<std::string> paragraphs = {};
  std::vector<std::string> head = {};  // of the table; empty: it has no head
  std::vector<std::vector<std::string>> rows = {};
  std::string code = {};  // shown as it is
  std::string code_language = {};
};

struct ReportDocument {
  std::string title, lead;
  std::vector<ReportSection> sections;
};

// A whole page: no scripts, nothing from elsewhere, a policy that forbids both.
std::string ToHtml(const ReportDocument& document);
// For an issue of GitHub's; long code is folded.
std::string ToMarkdown(const ReportDocument& document);

}  // namespace hloscope::debug
