// What the module in view takes: memory, and the largest scopes of its program.
#include <imgui/imgui.h>

#include <algorithm>
#include <memory>
#include <string>

#include "viewer/facts/dump_facts.h"
#include "viewer/graph/scope_shares.h"
#include "viewer/model/navigation.h"
#include "viewer/views/home/home_sections.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// Summing up scopes reads the program and what it became as a whole: of larger ones Graph does it.
constexpr int64_t kMaxInstructions = 200'000;

}  // namespace

void DrawProgram(Frame& frame) {
  const int32_t module = frame.context.navigation.module();
  if (module < 0) return;
  const Pending<ModuleFacts>& facts = FactsOf(frame.context, module);
  if (!facts.ready()) return;
  std::string scopes;
  bool is_found = true;
  if (std::max(facts->instructions, facts->instructions_before) <= kMaxInstructions) {
    const std::shared_ptr<const ScopeShares> shares = ScopeSharesOf(frame.context);
    is_found = shares != nullptr;
    if (is_found) scopes = shares->sentence;
  }
  const std::string memory = MemoryText(*facts);
  if (memory.empty() && scopes.empty() && is_found) return;
  Section(frame, "Memory and scopes", kHomeGap);
  if (!memory.empty()) Label(memory);
  if (!scopes.empty()) ImGui::TextWrapped("%s", SafeText(scopes, 600).c_str());
  if (!is_found) Label(frame.theme, Color::kTextSecondary, "summing up scopes …");
}

}  // namespace hloscope::viewer
