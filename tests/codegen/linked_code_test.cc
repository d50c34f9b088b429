// Code that is linked reaches the symbols of the table and no other of the process.
#include "core/linking/linked_code.h"

#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>

#include "core/codegen/target.h"
#include "core/linking/symbols.h"

namespace hloscope::codegen {
namespace {

using linking::LinkedCode;

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

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
    const Status added = code.Add(BytesOf(object));
    ASSERT_FALSE(added.has_value()) << name;
    EXPECT_NE(added.error().message.find(name), std::string::npos) << added.error().message;
    EXPECT_FALSE(code.Find("f").has_value()) << name;
  }
  LinkedCode code;
  const std::string object = ObjectThatCalls(linking::Symbols()[0].name);
  ASSERT_TRUE(code.Add(BytesOf(object)).has_value());
  EXPECT_TRUE(code.Find("f").has_value());
  EXPECT_FALSE(code.Find("g").has_value());
}

TEST(LinkedCode, RefusesNonObjects) {
  LinkedCode code;
  EXPECT_FALSE(code.Add({}).has_value());
  EXPECT_FALSE(code.Add(BytesOf("not an object at all")).has_value());
}

// Sizes, offsets and numbers of all tables at every bit: what is linked then may be wrong, but
// nothing is read or written outside of what is there.
TEST(LinkedCode, SurvivesEveryFlippedBit) {
  const std::string object = ObjectThatCalls(linking::Symbols()[0].name);
  int refused = 0;
  for (size_t i = 0; i < 8 * object.size(); ++i) {
    std::string flipped = object;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ 1 << i % 8);
    LinkedCode code;
    refused += code.Add(BytesOf(flipped)).has_value() ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
  for (size_t size = 0; size < object.size(); ++size) {
    LinkedCode code;
    EXPECT_FALSE(code.Add(BytesOf(std::string_view(object).substr(0, size))).has_value()) << size;
  }
}

// A call of a function that lies anywhere in memory, and constants of its own.
TEST(LinkedCode, RunsWhatItLinked) {
  auto target = BorrowedTarget::Take("", Effort::kLeast);
  ASSERT_TRUE(target.has_value());
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  (*target)->Prepare(module);
  llvm::IRBuilder<> b(context);
  llvm::Type* number = b.getDoubleTy();
  auto* type = llvm::FunctionType::get(number, {number}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", f));
  llvm::Value* sum = b.CreateFAdd(f->getArg(0), llvm::ConstantFP::get(number, 0.25));
  b.CreateRet(b.CreateCall(module.getOrInsertFunction("floor", type), {sum}));
  const std::string object = (*target)->ToObject(module);
  LinkedCode code;
  ASSERT_TRUE(code.Add(BytesOf(object)).has_value());
  const auto found = code.Find("f");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(*found)(2.8), 3);
}

}  // namespace
}  // namespace hloscope::codegen
