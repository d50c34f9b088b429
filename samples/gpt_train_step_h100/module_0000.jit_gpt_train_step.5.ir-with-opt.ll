; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_gather_fusion(ptr noalias nofree readonly align 256 captures(none) dereferenceable(65536000) %0, ptr noalias nofree readonly align 16 captures(none) dereferenceable(32800) %1, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(16777216) %2) local_unnamed_addr #0 {
  %4 = addrspacecast ptr %1 to ptr addrspace(1)
  %5 = addrspacecast ptr %0 to ptr addrspace(1)
  %6 = addrspacecast ptr %2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !2
  %8 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !3
  %9 = lshr i32 %7, 11
  %10 = mul nuw nsw i32 %9, 1025
  %11 = lshr i32 %7, 1
  %12 = and i32 %11, 1023
  %13 = add nuw nsw i32 %10, %12
  %14 = zext nneg i32 %13 to i64
  %15 = getelementptr inbounds [4 x i8], ptr addrspace(1) %4, i64 %14
  %16 = load i32, ptr addrspace(1) %15, align 4, !invariant.load !0
  %17 = icmp slt i32 %16, 0
  %18 = add i32 %16, 32000
  %19 = select i1 %17, i32 %18, i32 %16
  %20 = tail call i32 @llvm.smax.i32(i32 %19, i32 0)
  %21 = tail call i32 @llvm.umin.i32(i32 %20, i32 31999)
  %22 = shl nuw nsw i32 %8, 2
  %23 = shl nuw nsw i32 %7, 9
  %24 = or disjoint i32 %22, %23
  %25 = and i32 %23, 512
  %26 = shl nuw nsw i32 %21, 10
  %27 = or disjoint i32 %26, %25
  %28 = or disjoint i32 %27, %22
  %29 = zext nneg i32 %28 to i64
  %30 = getelementptr inbounds [2 x i8], ptr addrspace(1) %5, i64 %29
  %31 = load <4 x bfloat>, ptr addrspace(1) %30, align 8, !invariant.load !0
  %32 = zext nneg i32 %24 to i64
  %33 = getelementptr inbounds [2 x i8], ptr addrspace(1) %6, i64 %32
  store <4 x bfloat> %31, ptr addrspace(1) %33, align 8
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.umin.i32(i32, i32) #4

attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!1, !4}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 0, i32 16384}
!3 = !{i32 0, i32 128}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
