// Code that is linked reaches the symbols of the table and no other of the process.
#include "core/codegen/linked_code.h"

#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>

#include "core/codegen/math/symbols.h"
#include "core/codegen/target.h"

namespace hloscope::codegen {
namespace {

// An object with a function `f` that calls a function of that name.
std::string ObjectThatCalls(const std::string& name) {
  auto target = BorrowedTarget::Take("", Effort::kLeast);
  EXPECT_TRUE(target.has_value());
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  (*target)->Prepare(module);
  llvm::IRBuilder<> b(context);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateCall(module.getOrInsertFunction(name, type));
  b.CreateRetVoid();
  return (*target)->ToObject(module);
}

TEST(LinkedCode, ReachesTheTableAndNothingElseOfTheProcess) {
  for (const char* name : {"system", "abort", "dlopen", "execve", "malloc", "write", "getenv"}) {
    LinkedCode code;
    const std::string object = ObjectThatCalls(name);
    const Status added = code.Add({object, "o"});
    ASSERT_FALSE(added.has_value()) << name;
    EXPECT_NE(added.error().message.find(name), std::string::npos) << added.error().message;
    EXPECT_FALSE(code.Find("f").has_value()) << name;
  }
  LinkedCode code;
  const std::string object = ObjectThatCalls(Symbols()[0].name);
  ASSERT_TRUE(code.Add({object, "o"}).has_value());
  EXPECT_TRUE(code.Find("f").has_value());
  EXPECT_FALSE(code.Find("g").has_value());
}

TEST(LinkedCode, RefusesWhatIsNoObject) {
  LinkedCode code;
  EXPECT_FALSE(code.Add({"", "o"}).has_value());
  EXPECT_FALSE(code.Add({"not an object at all", "o"}).has_value());
}

}  // namespace
}  // namespace hloscope::codegen
