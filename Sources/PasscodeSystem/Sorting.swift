internal import CSystem

/// The numbers in ascending order. The corresponding C function is `qsort`: the standard library's sort would be
/// 5 kB of the tool.
public func ascending(_ numbers: [UInt32]) -> [UInt32] {
  var numbers = numbers
  unsafe cs_sort(&numbers, numbers.count)
  return numbers
}
