# Turns the text file INPUT into a header OUTPUT that defines `inline constexpr char NAME[]`.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#pragma once\n\ninline constexpr char ${NAME}[] = R\"TFERRY(${text})TFERRY\";\n")
