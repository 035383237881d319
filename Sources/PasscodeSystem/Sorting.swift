internal import CSystem

/// The numbers in ascending order. The corresponding C function is `qsort`.
public func ascending(_ numbers: [UInt32]) -> [UInt32] {
  var numbers = numbers
  unsafe cs_sort(&numbers, numbers.count)
  return numbers
}
